/** Turns the text of a value into JSON text. */
type ToJson = (text: string) => string;

const asText: ToJson = (text) => JSON.stringify(text);
/** `NaN` and the infinities have no number in JSON. */
const asNumber: ToJson = (text) => (/^-?\d/.test(text) ? text : asText(text));
const asIs: ToJson = (text) => text;
const asBoolean: ToJson = (text) => (text === 't' ? 'true' : 'false');
const asBase64: ToJson = (text) => asText(bytesOf(text).toString('base64'));

const INSTANT = /^(\d{4,}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(\.\d+)?)?([+-]\d\d(?::\d\d)?)?$/;

/** RFC 3339 in UTC, with the digits that the server has; what has another form stays, such as `infinity`. */
const asInstant: ToJson = (text) => {
  const [, date, time = '00:00:00', fraction = '', offset = '+00'] = INSTANT.exec(text) ?? [];
  if (date === undefined) return asText(text);
  const at = Date.parse(`${date}T${time}${offset.length === 3 ? `${offset}:00` : offset}`);
  return asText(Number.isNaN(at) ? text : `${new Date(at).toISOString().slice(0, -5)}${fraction}Z`);
};

/** By the numbers of PostgreSQL's types. */
const SCALARS: ReadonlyMap<number, ToJson> = new Map<number, ToJson>([
  [16, asBoolean],
  [17, asBase64],
  ...[20, 21, 23, 26, 700, 701, 1700].map((type) => [type, asNumber] as const),
  ...[114, 3802].map((type) => [type, asIs] as const),
  ...[1082, 1114, 1184].map((type) => [type, asInstant] as const),
]);

/** The types of arrays, and those of their items. */
const ARRAYS: ReadonlyMap<number, number> = new Map([
  ...([
    [1000, 16],
    [1001, 17],
    [1016, 20],
    [1005, 21],
    [1007, 23],
    [1028, 26],
    [1021, 700],
    [1022, 701],
    [1231, 1700],
    [199, 114],
    [3807, 3802],
    [1182, 1082],
    [1115, 1114],
    [1185, 1184],
    [1009, 25],
    [1015, 1043],
    [1014, 1042],
    [2951, 2950],
  ] as const),
]);

/** The JSON text of a column: numbers keep every digit. */
export function jsonOfColumn(text: string | null, type: number): string {
  if (text === null) return 'null';
  const item = ARRAYS.get(type);
  if (item === undefined) return (SCALARS.get(type) ?? asText)(text);
  return arrayJson(text, SCALARS.get(item) ?? asText);
}

/** The token of an array: a brace, a comma, a quoted or a plain item. */
const TOKEN = /[{},]|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs;

/** `{1,NULL,{"a b"}}`; bounds in front, as in `[0:1]={1,2}`, are left out. */
function arrayJson(text: string, toJson: ToJson): string {
  const body = text.slice(text.indexOf('{'));
  return body.replaceAll(TOKEN, (token, quoted: string | undefined) => {
    if (token === '{') return '[';
    if (token === '}') return ']';
    if (token === ',') return ',';
    if (quoted !== undefined) return toJson(quoted.replaceAll(/\\(.)/gs, '$1'));
    return token === 'NULL' ? 'null' : toJson(token);
  });
}

/** Both forms of the setting `bytea_output` have `\x` in front of hexadecimal digits, or are texts. */
function bytesOf(text: string): Buffer {
  return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text, 'latin1');
}
