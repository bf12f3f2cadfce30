// There are types of one release of Express only; what the tests use is the same in both.
declare module 'express4' {
  import express from 'express';
  export default express;
}
