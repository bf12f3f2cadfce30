/** The types of the API come from the library, whose requests have bodies that stream: TypeScript's DOM has none. */
interface RequestInit {
  duplex?: 'half';
}
