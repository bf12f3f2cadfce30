import { expect } from 'vitest';
import type { StoresWorld, ToldChange } from './stores-world.ts';

/** The statements of a table of configuration and its trigger, as in Dapr's documentation. */
export const TABLE = (name: string): string => `
  CREATE TABLE ${name} (KEY VARCHAR NOT NULL, VALUE VARCHAR NOT NULL, VERSION VARCHAR NOT NULL, METADATA JSON);
  CREATE OR REPLACE FUNCTION ${name}_event() RETURNS TRIGGER AS $$
    DECLARE data json;
    BEGIN
      IF (TG_OP = 'DELETE') THEN data = row_to_json(OLD); ELSE data = row_to_json(NEW); END IF;
      PERFORM pg_notify('${name}', json_build_object('table', TG_TABLE_NAME, 'action', TG_OP, 'data', data)::text);
      RETURN NULL;
    END;
  $$ LANGUAGE plpgsql;
  CREATE TRIGGER ${name}_change AFTER INSERT OR UPDATE OR DELETE ON ${name} FOR EACH ROW EXECUTE PROCEDURE ${name}_event();`;

/** Subscribes to configuration; gives the ID. */
export async function subscribe(world: StoresWorld, query = '', store = 'cfg'): Promise<string> {
  const answer = await world.get(`/v1.0/configuration/${store}/subscribe${query}`);
  expect([answer.status, answer.json], answer.text).toEqual([200, { id: expect.any(String) }]);
  return String(answer.json['id']);
}

export const itemsOf = (changes: readonly ToldChange[]): unknown[] => changes.map(({ body }) => body.items);
