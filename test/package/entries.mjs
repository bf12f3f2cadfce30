// Imports every entry point of the installed package.
import { loadEntries } from './entries.cjs';

console.log(`import on Node ${process.version}: loaded ${await loadEntries((entry) => import(entry))}`);
