// Finds the options of the public API that do not take `undefined`. With `exactOptionalPropertyTypes`, a program could
// then not write `namespace: process.env.NS`, although at run time `undefined` counts as left out.
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES } from './entries.mjs';

// TypeScript 7 has no API to ask for types with yet; API Extractor brings one that has.
const ts = createRequire(createRequire(import.meta.url).resolve('@microsoft/api-extractor'))('typescript');
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Where the interfaces of stores and components are. */
const STORES = /^src\/(?:state|components)\//;

/** The optional fields in what the modules take, by default the entry points, whose type lacks `undefined`. */
export function fieldsWithoutUndefined(files = Object.values(ENTRIES).map((file) => join(ROOT, file))) {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  const program = ts.createProgram(files, options);
  const walk = new Walk(program.getTypeChecker());
  for (const file of files) walk.module(program.getSourceFile(file));
  return [...walk.found].map(nameOf);
}

/** As `PublishOptions.ttl (src/blocks/…)`. */
function nameOf(declaration) {
  const { parent, name } = declaration;
  const owner = parent.name === undefined ? '' : `${parent.name.text}.`;
  return `${owner}${name.getText()} (${fileOf(declaration)})`;
}

function fileOf(declaration) {
  return relative(ROOT, declaration.getSourceFile().fileName).split(sep).join('/');
}

/**
 * Visits what programs pass: the parameters of our functions, and their fields. A function that a program passes gets
 * from us what has methods again, such as the context of a workflow. What such a function returns is left out.
 */
class Walk {
  found = new Set();
  #checker;
  #visited = { passed: new Set(), given: new Set() };

  constructor(checker) {
    this.#checker = checker;
  }

  module(file) {
    for (const symbol of this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(file))) {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
      const exported = isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
      if ((exported.flags & ts.SymbolFlags.Value) !== 0) this.#given(this.#checker.getTypeOfSymbol(exported));
    }
  }

  /** What a program gets from us. */
  #given(type) {
    for (const part of this.#partsOf(type, 'given')) {
      if (isOfStores(part)) continue;
      for (const signature of signaturesOf(part)) {
        for (const parameter of signature.getParameters()) this.#passed(this.#checker.getTypeOfSymbol(parameter));
        this.#given(signature.getReturnType());
      }
      for (const field of fieldsOf(part)) this.#given(this.#checker.getTypeOfSymbol(field));
    }
  }

  /** What a program passes to us. */
  #passed(type) {
    for (const part of this.#partsOf(type, 'passed')) {
      for (const signature of signaturesOf(part))
        for (const parameter of signature.getParameters()) this.#given(this.#checker.getTypeOfSymbol(parameter));
      // An instance of a class was given by us.
      if (!part.isClass()) for (const field of fieldsOf(part)) this.#field(field);
    }
  }

  #field(symbol) {
    const { valueDeclaration: declaration } = symbol;
    const isOption = ts.isPropertySignature(declaration) && declaration.questionToken !== undefined;
    if (isOption && !takesUndefined(declaration)) this.found.add(declaration);
    this.#passed(this.#checker.getTypeOfSymbol(symbol));
  }

  /** A type and its parts that were not visited yet. */
  #partsOf(type, way) {
    if (this.#visited[way].has(type)) return [];
    this.#visited[way].add(type);
    const parts = type.isUnionOrIntersection() ? type.types : this.#checker.getTypeArguments(type);
    return [type, ...parts.flatMap((part) => this.#partsOf(part, way))];
  }
}

/** Without internal ones. */
function signaturesOf(type) {
  return [...type.getCallSignatures(), ...type.getConstructSignatures()].filter(isPublic);
}

/** Without internal and private ones, and those of other packages. */
function fieldsOf(type) {
  return type.getProperties().filter((symbol) => isOurs(symbol) && isPublic(symbol));
}

function isOurs({ valueDeclaration }) {
  return valueDeclaration !== undefined && !fileOf(valueDeclaration).includes('node_modules/');
}

function isOfStores({ symbol }) {
  return symbol?.declarations?.some((one) => ts.isInterfaceDeclaration(one) && STORES.test(fileOf(one))) ?? false;
}

function isPublic(symbolOrSignature) {
  const { name } = symbolOrSignature.valueDeclaration ?? {};
  const isPrivate = name !== undefined && ts.isPrivateIdentifier(name);
  return !isPrivate && symbolOrSignature.getJsDocTags().every((tag) => tag.name !== 'internal');
}

function takesUndefined({ type }) {
  const parts = ts.isUnionTypeNode(type) ? type.types : [type];
  return parts.some(({ kind }) => kind === ts.SyntaxKind.UndefinedKeyword || kind === ts.SyntaxKind.UnknownKeyword);
}
