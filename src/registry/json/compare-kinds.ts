// The rules by kinds of nodes: which kinds can be compared, and the kinds without parts.

import { compareArrays } from './compare-arrays.ts'
import { compareCombined, compareWithCombined } from './compare-combined.ts'
import { compareObjects } from './compare-objects.ts'
import { isZero, remainderIsZero, sameNumber } from './decimals.ts'
import { type Findings, isSubset, notLess, notMore, type Pair, type Steps } from './findings.ts'
import type { Node, NotNode, NumberNode, StringNode, ValuesNode } from './nodes.ts'

/** Compares the nodes of a pair. */
export function* compareKinds(findings: Findings, pair: Pair): Steps {
  const { original, update } = pair
  if ((original.kind === 'combined') !== (update.kind === 'combined')) {
    if (yield* compareWithCombined(pair)) return
  }
  if (original.kind !== update.kind) {
    if (!areExchangeable(original, update)) findings.note('TYPE_CHANGED', '', wordOf(original), wordOf(update))
    return
  }
  switch (original.kind) {
    case 'object':
      return yield* compareObjects(findings, original, update as typeof original)
    case 'array':
      return yield* compareArrays(findings, original, update as typeof original)
    case 'combined':
      return yield* compareCombined(findings, original, update as typeof original)
    case 'not':
      return yield* compareNots(findings, original, update as typeof original)
    default:
      compareLeaves(findings, original, update)
  }
}

/** Returns the verdict of a pair that costs less to compare than to remember. Policies differ on objects only. */
export function quickVerdict({ original, update }: Pair): boolean | undefined {
  if (original === update || update.kind === 'any') return true
  if (original.kind === 'combined' || update.kind === 'combined') return undefined
  if (original.kind !== update.kind) return areExchangeable(original, update)
  if (original.kind === 'object' || original.kind === 'array' || original.kind === 'not') return undefined
  const findings = new Quick()
  compareLeaves(findings, original, update)
  return !findings.isDone
}

class Quick implements Findings {
  isDone = false

  note(): void {
    this.isDone = true
  }

  blame(): void {
    this.isDone = true
  }
}

function areExchangeable(original: Node, update: Node): boolean {
  if (original.kind === 'false' || update.kind === 'any') return true
  return original.isConnectBytes && update.isConnectBytes
}

function compareLeaves(findings: Findings, original: Node, update: Node): void {
  const { kind } = original
  if (kind === 'string') compareStrings(findings, original, update as StringNode)
  else if (kind === 'number') compareNumbers(findings, original, update as NumberNode)
  else if (kind === 'enum' || kind === 'const') compareValues(findings, original, update as ValuesNode)
}

function compareStrings(findings: Findings, original: StringNode, update: StringNode): void {
  notMore(findings, 'maxLength', 'MAX_LENGTH', original.maxLength, update.maxLength)
  notLess(findings, 'minLength', 'MIN_LENGTH', original.minLength, update.minLength)
  if (update.pattern === null || update.pattern === original.pattern) return
  const change = original.pattern === null ? 'PATTERN_ADDED' : 'PATTERN_CHANGED'
  findings.note(change, '/pattern', original.pattern, update.pattern)
}

function compareNumbers(findings: Findings, original: NumberNode, update: NumberNode): void {
  notMore(findings, 'maximum', 'MAXIMUM', original.maximum, update.maximum)
  notLess(findings, 'minimum', 'MINIMUM', original.minimum, update.minimum)
  notMore(findings, 'exclusiveMaximum', 'EXCLUSIVE_MAXIMUM', original.exclusiveMaximum, update.exclusiveMaximum)
  notLess(findings, 'exclusiveMinimum', 'EXCLUSIVE_MINIMUM', original.exclusiveMinimum, update.exclusiveMinimum)
  compareMultiples(findings, original.multipleOf, update.multipleOf)
  if (update.isInteger && !original.isInteger) findings.note('TYPE_NARROWED')
}

function compareMultiples(findings: Findings, original: string | null, update: string | null): void {
  if (update === null) return
  if (original === null) findings.note('MULTIPLE_OF_ADDED', '/multipleOf', original, update)
  else if (sameNumber(original, update)) return
  else if (!isZero(original) && remainderIsZero(update, original)) {
    findings.note('MULTIPLE_OF_EXPANDED', '/multipleOf', original, update)
  } else if (isZero(update) || !remainderIsZero(original, update)) {
    findings.note('MULTIPLE_OF_CHANGED', '/multipleOf', original, update)
  }
}

function compareValues(findings: Findings, original: ValuesNode, update: ValuesNode): void {
  if (isSubset(original.values, update.values)) return
  const isNarrowed = original.kind === 'enum' && isSubset(update.values, original.values)
  const change = isNarrowed ? 'ENUM_ARRAY_NARROWED' : 'ENUM_ARRAY_CHANGED'
  findings.note(change, `/${original.kind}`, original.values, update.values)
}

/** A `not` may forbid less: the inner schema of the writer has to read that of the reader. */
function* compareNots(findings: Findings, original: NotNode, update: NotNode): Steps {
  const isNarrowed = yield { original: update.inner.node, update: original.inner.node }
  if (!isNarrowed) findings.note('NOT_TYPE_EXTENDED', '/not')
}

/** A node in a sentence. */
function wordOf(node: Node): string {
  switch (node.kind) {
    case 'any':
      return 'a schema for any value'
    case 'false':
      return 'a schema for no value'
    case 'number':
      return node.isInteger ? 'an integer' : 'a number'
    case 'combined':
      return `${node.criterion} of ${node.members.length}`
    case 'conditional':
      return 'a condition (if, then, else)'
    case 'array':
    case 'object':
    case 'enum':
      return `an ${node.kind}`
    case 'null':
    case 'not':
      return node.kind
    default:
      return `a ${node.kind}`
  }
}
