// What `using` and `await using` become in the bundle: the members are those of the bundler's own helper, which it
// replaces (build.mjs); TypeScript's helpers, in the package tslib, do the work.
import { __addDisposableResource, __disposeResources } from 'tslib';

export default function usingScope() {
  const scope = { stack: [], error: undefined, hasError: false };
  return {
    u: (resource) => __addDisposableResource(scope, resource, false),
    a: (resource) => __addDisposableResource(scope, resource, true),
    set e(error) {
      scope.error = error;
      scope.hasError = true;
    },
    d: () => __disposeResources(scope),
  };
}
