// A schema as the comparison sees it: which kind of values it is about, and its parts. The kinds, and the way in which
// keywords of several kinds become one `allOf`, are Confluent's, since its rules of compatibility are written for them.

/** `any` is `true` or a schema without keywords. */
export type Node =
  | AnyNode
  | FalseNode
  | LeafNode
  | StringNode
  | NumberNode
  | ValuesNode
  | NotNode
  | CombinedNode
  | ObjectNode
  | ArrayNode

export interface Common {
  /** Connect writes decimals and bytes in several ways and marks them with `connect.type`. */
  readonly isConnectBytes: boolean
}

export interface AnyNode extends Common {
  readonly kind: 'any'
}
export interface FalseNode extends Common {
  readonly kind: 'false'
}
/** Kinds without parts that are compared. `conditional` stands for `if`, `then` and `else`. */
export interface LeafNode extends Common {
  readonly kind: 'boolean' | 'null' | 'conditional'
}

export interface StringNode extends Common {
  readonly kind: 'string'
  readonly maxLength: number | null
  readonly minLength: number | null
  readonly pattern: string | null
}

export interface NumberNode extends Common {
  readonly kind: 'number'
  readonly maximum: number | null
  readonly minimum: number | null
  readonly exclusiveMaximum: number | null
  readonly exclusiveMinimum: number | null
  /** As it was written: the rules need its exact value. */
  readonly multipleOf: string | null
  readonly isInteger: boolean
}

/** The values are the texts of keyOfJson. */
export interface ValuesNode extends Common {
  readonly kind: 'enum' | 'const'
  readonly values: ReadonlySet<string>
}

export interface NotNode extends Common {
  readonly kind: 'not'
  readonly inner: Part
}

export type Criterion = 'allOf' | 'anyOf' | 'oneOf'

export interface CombinedNode extends Common {
  readonly kind: 'combined'
  readonly criterion: Criterion
  readonly members: readonly Part[]
}

/** The values that may stand beside the named parts: any (null), none (false), or those of this part. */
export type Rest = Part | false | null

export interface ObjectNode extends Common {
  readonly kind: 'object'
  readonly properties: ReadonlyMap<string, Part>
  readonly patterns: readonly (readonly [RegExp, Part])[]
  readonly required: ReadonlySet<string>
  readonly additional: Rest
  readonly unevaluated: Part | null
  readonly dependentRequired: ReadonlyMap<string, ReadonlySet<string>>
  readonly dependentSchemas: ReadonlyMap<string, Part>
  readonly maxProperties: number | null
  readonly minProperties: number | null
}

export interface ArrayNode extends Common {
  readonly kind: 'array'
  /** The schema of all items, if it is one. */
  readonly items: Part | null
  readonly tuple: readonly Part[]
  readonly additional: Rest
  readonly unevaluated: Part | null
  readonly maxItems: number | null
  readonly minItems: number | null
  readonly maxContains: number | null
  readonly minContains: number | null
  readonly isUnique: boolean
}

/** A schema inside another one. */
export interface Part {
  /** Its node; for a `$ref` that of its target. */
  readonly node: Node
  /** Whether it is written as nothing else than a `$ref`. */
  readonly isRef: boolean
  /** Equal keys mean equal schemas, as far as their texts tell. */
  readonly key: string
  readonly hasDefault: boolean
}
