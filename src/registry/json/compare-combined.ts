// The rules for `allOf`, `anyOf` and `oneOf`.

import type { Findings, Pair, Steps } from './findings.ts'
import { maximumMatching } from './matching.ts'
import type { CombinedNode, Part } from './nodes.ts'

/** Compares a combined node with one of another kind. Returns whether one member settles that they are compatible. */
export function* compareWithCombined({ original, update }: Pair): Generator<Pair, boolean, boolean> {
  if (update.kind === 'combined') {
    // The reader takes what one of its alternatives takes.
    if (update.members.length > 1 && update.criterion === 'allOf') return false
    for (const member of update.members) if (yield { original, update: member.node }) return true
    return false
  }
  const { members, criterion } = original as CombinedNode
  // The data of the writer matches each of its schemas.
  if (members.length > 1 && criterion !== 'allOf') return false
  for (const member of members) if (yield { original: member.node, update }) return true
  return false
}

export function* compareCombined(findings: Findings, original: CombinedNode, update: CombinedNode): Steps {
  if (!isExtended(original, update)) {
    findings.note('COMBINED_TYPE_CHANGED', '', original.criterion, update.criterion)
    return
  }
  const from = distinct(original.members)
  const to = distinct(update.members)
  if (from.length < to.length && update.criterion === 'allOf') {
    findings.note('PRODUCT_TYPE_EXTENDED', '', from.length, to.length)
  } else if (from.length > to.length && original.criterion !== 'allOf') {
    findings.note('SUM_TYPE_NARROWED', '', from.length, to.length)
  }
  if (findings.isDone) return
  const wanted = Math.min(from.length, to.length)
  const found = yield* matched(from, to, wanted)
  if (found < wanted) findings.note('COMBINED_TYPE_SUBSCHEMAS_CHANGED', '', wanted, found)
}

/** Whether the criterion is the same or asks for less. */
function isExtended(original: CombinedNode, update: CombinedNode): boolean {
  if (original.criterion === update.criterion || update.criterion === 'anyOf') return true
  const fromOne = original.members.length === 1
  const toOne = update.members.length === 1
  if (fromOne && (toOne || update.criterion === 'oneOf')) return true
  return toOne && original.criterion === 'allOf'
}

/** The members without those that are written twice. */
function distinct(members: readonly Part[]): readonly Part[] {
  const byKey = new Map<string, Part>()
  for (const part of members) if (!byKey.has(part.key)) byKey.set(part.key, part)
  return [...byKey.values()]
}

/**
 * Returns how many members of the writer have a member of the reader of their own that can read them: a maximum
 * matching. Pairs are compared when the matching asks for them, first those that are written alike: schemas of 1,000
 * members that changed little cost little more than 1,000 comparisons.
 */
function* matched(from: readonly Part[], to: readonly Part[], wanted: number): Generator<Pair, number, boolean> {
  const alike = new Map(to.map(({ key }, at) => [key, at]))
  const likely = (left: number) => alike.get(from[left]!.key) ?? (left < to.length ? left : undefined)
  const matching = maximumMatching(from.length, to.length, wanted, likely)
  let step = matching.next()
  while (!step.done) {
    const { left, right } = step.value
    step = matching.next(yield { original: from[left]!.node, update: to[right]!.node })
  }
  return step.value
}
