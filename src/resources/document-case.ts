import { inSchemaCase } from '../util/schema-case.ts';
import type { Report } from './report.ts';
import { fieldName } from './validate.ts';
import type { YamlDocument } from './yaml-document.ts';

/** The document with the keys of a schema, whatever the case of its own. Two that mean the same are a problem. */
export function inCaseOf(document: YamlDocument, schema: object, report: Report): YamlDocument {
  return document.mapped((value) =>
    inSchemaCase(value, schema, ({ written, known, path, isAmbiguous }) => {
      if (!isAmbiguous) return;
      const field = fieldName([...path, known]);
      report.problem(document.keyLocation(path, written), `${field} is written twice, once as ${written}`);
    }),
  );
}
