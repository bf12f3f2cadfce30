// Compares the public API with its reports in `etc`: npm run api. With --reference it also compares the pages of
// `docs/api` with the comments that they are made from. With --update it writes both anew. Needs a build.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { referenceOf } from './api-reference.mjs';
import { declarationsOf, ENTRIES, importOf } from './entries.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const isUpdate = process.argv.includes('--update');
const withReference = isUpdate || process.argv.includes('--reference');
const problems = [];

/** A type that a declaration of an entry names and that is not exported there: another entry must export it. */
const NEEDED = /^The symbol "(\w+?)(?:_\d+)?" needs to be exported by the entry point/;

/** Runs API Extractor for an entry; answers with what it has found in the declarations. */
function extract(name) {
  const configFile = join(root, 'api-extractor.json');
  const config = ExtractorConfig.loadFile(configFile);
  const slug = importOf(name).replace('/', '-');
  const model = join(root, `temp/${slug}.api.json`);
  config.mainEntryPointFilePath = join(root, 'dist', declarationsOf(name));
  config.compiler.overrideTsconfig.files = Object.keys(ENTRIES).map((entry) =>
    join(root, 'dist', declarationsOf(entry)),
  );
  config.apiReport.reportFileName = `${slug}.api.md`;
  config.docModel = { enabled: true, apiJsonFilePath: model };
  const prepared = ExtractorConfig.prepare({
    configObject: config,
    configObjectFullPath: configFile,
    packageJsonFullPath: join(root, 'package.json'),
  });
  const needed = new Set();
  const { succeeded } = Extractor.invoke(prepared, {
    localBuild: isUpdate,
    messageCallback(message) {
      if (message.messageId !== 'ae-forgotten-export') return;
      message.logLevel = 'none';
      needed.add(NEEDED.exec(message.text)[1]);
    },
  });
  if (!succeeded) problems.push(`etc/${slug}.api.md: see above`);
  return { name, slug, needed, exported: JSON.parse(readFileSync(model, 'utf8')).members[0].members };
}

function writeOrCompare(path, text) {
  const file = join(root, path);
  if (isUpdate) return writeFileSync(file, text);
  let now = '';
  try {
    now = readFileSync(file, 'utf8');
  } catch {}
  if (now !== text) problems.push(`${path} is not what the comments of the sources make`);
}

mkdirSync(join(root, 'docs/api'), { recursive: true });
const entries = Object.keys(ENTRIES).map(extract);
const exported = new Set(entries.flatMap((entry) => entry.exported.map(({ name }) => name)));
for (const { name, needed } of entries)
  for (const type of needed)
    if (!exported.has(type)) problems.push(`${importOf(name)} needs the type ${type}, which no entry exports`);
if (withReference)
  for (const entry of entries) writeOrCompare(`docs/api/${entry.slug}.md`, referenceOf(entry, entries));
if (problems.length > 0) {
  console.error(`${problems.join('\n')}\nnpm run api:update writes them anew; look at what changes.`);
  process.exitCode = 1;
}
