// avsc as the judge of tests of Avro payloads, and random values in its encoding. It is laxer than our walker: it takes
// booleans beyond 1, integers beyond their width, text that is no UTF-8 and blocks of a wrong length, and it refuses
// schemas that Java accepts.

import avsc from 'avsc'
import type { Random } from '../src/base/random.ts'

/** Longs without loss. */
const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0),
})

export interface AvroJudge {
  /** A random value, encoded; null if the type has no finite one. */
  sample(random: Random): Buffer | null
  /** The value of the bytes, undefined if avsc cannot read them to their last byte. */
  read(bytes: Buffer): unknown
}

/** Returns null if avsc refuses the schema. */
export function judgeOf(schemaText: string): AvroJudge | null {
  let type: avsc.Type
  try {
    type = avsc.Type.forSchema(withoutExtras(JSON.parse(schemaText)), {
      registry: { long: LONG },
      wrapUnions: true,
    } as never)
  } catch {
    return null
  }
  return {
    sample(random) {
      try {
        return type.toBuffer(sampleOf(type, random, 0))
      } catch (error) {
        if (error instanceof Endless) return null
        throw error
      }
    },
    read(bytes) {
      try {
        return type.fromBuffer(bytes)
      } catch {
        return undefined
      }
    },
  }
}

/** avsc refuses defaults of later branches; logical types and defaults do not matter for payloads. */
function withoutExtras(schema: unknown): avsc.Schema {
  if (Array.isArray(schema)) return schema.map(withoutExtras) as avsc.Schema
  if (schema === null || typeof schema !== 'object') return schema as avsc.Schema
  // A long with a logical type would be avsc's own long, which loses digits.
  const { type } = schema as { type: unknown }
  if (typeof type === 'string' && PRIMITIVES.has(type)) return type as avsc.Schema
  const kept = Object.entries(schema).filter(([name]) =>
    ['type', 'name', 'namespace', 'fields', 'items', 'values', 'symbols', 'size'].includes(name),
  )
  return Object.fromEntries(
    kept.map(([name, value]) => [name, name === 'symbols' ? value : withoutExtras(value)]),
  ) as never
}

const PRIMITIVES = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'])

class Endless extends Error {}

const TEXTS = ['', 'a', 'grüße', '日本語', '🙂', 'long '.repeat(40), '"\\\n\u0000']

/** A value as avsc holds it. Deep down, recursion ends. */
// biome-ignore lint/suspicious/noExplicitAny: avsc's types of values are its own.
function sampleOf(type: any, random: Random, depth: number): unknown {
  const count = depth > 6 ? 0 : random.below(4)
  switch (type.typeName) {
    case 'null':
      return null
    case 'boolean':
      return random.below(2) === 1
    case 'int':
      return [0, -1, 63, 64, 2147483647, -2147483648][random.below(6)]
    case 'long':
    case 'abstract:long':
      return [0n, -1n, 8191n, 1n << 40n, (1n << 63n) - 1n, -(1n << 63n)][random.below(6)]
    case 'float':
      return Math.fround([0, 1.5, -0.1, 3e38, Number.POSITIVE_INFINITY][random.below(5)]!)
    case 'double':
      return [0, 1.5, -0.1, 1e300, Number.NaN][random.below(5)]
    case 'bytes':
      return random.bytes(random.below(20))
    case 'fixed':
      return random.bytes(type.size)
    case 'string':
      return TEXTS[random.below(TEXTS.length)]
    case 'enum':
      return type.symbols[random.below(type.symbols.length)]
    case 'array':
      return Array.from({ length: count }, () => sampleOf(type.itemsType, random, depth + 1))
    case 'map':
      return Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`k${i}`, sampleOf(type.valuesType, random, depth + 1)]),
      )
    case 'union:wrapped': {
      const isShallow = (branch: { typeName: string }) => !['record', 'error'].includes(branch.typeName)
      const shallow = type.types.filter(isShallow)
      const branches = depth > 4 && shallow.length > 0 ? shallow : type.types
      const branch = branches[random.below(branches.length)]
      const value = sampleOf(branch, random, depth + 1)
      return value === null ? null : { [branch.branchName]: value }
    }
    default: {
      if (depth > 30) throw new Endless()
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      return new type.recordConstructor(...type.fields.map((field: any) => sampleOf(field.type, random, depth + 1)))
    }
  }
}
