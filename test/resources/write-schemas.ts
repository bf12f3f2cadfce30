import { writeFile } from 'node:fs/promises';
import { SCHEMA_FILES } from './schema-files.ts';

// Writes the published JSON Schemas: `npm run schemas`.
for (const { url, text } of SCHEMA_FILES) await writeFile(url, text);
