/** Dual-stack sockets report 127.0.0.1 as `::ffff:127.0.0.1`. */
const LOOPBACK = /^(?:::1$|(?:::ffff:)?127\.)/i;

/** Whether an address of a connection is one of this host that no other host can reach. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(address);
}
