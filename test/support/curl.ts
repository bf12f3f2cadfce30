/** Sends the request of a line of curl, as documents have it. Its origin is replaced. */
export function sendCurl(line: string, origin: string): Promise<Response> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);
  const headers = new Headers();
  let method: string | undefined;
  let body: string | undefined;
  let target = '';
  for (let next = words.shift(); next !== undefined; next = words.shift()) {
    if (next === '-X') method = words.shift();
    else if (next === '-d') body = words.shift();
    else if (next === '-H') headers.append(...((words.shift() ?? '').split(': ') as [string, string]));
    else target = next;
  }
  method ??= body === undefined ? 'GET' : 'POST';
  return fetch(target.replace('http://127.0.0.1:3500', origin), {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}
