// The rules for arrays: one schema for all items, schemas by index, and what may follow them.

import { comparePart, compareRest, compareUnevaluated } from './compare-objects.ts'
import type { Findings, Steps } from './findings.ts'
import { notLess, notMore } from './findings.ts'
import type { ArrayNode, Part } from './nodes.ts'

export function* compareArrays(findings: Findings, original: ArrayNode, update: ArrayNode): Steps {
  notMore(findings, 'maxItems', 'MAX_ITEMS', original.maxItems, update.maxItems)
  notLess(findings, 'minItems', 'MIN_ITEMS', original.minItems, update.minItems)
  notMore(findings, 'maxContains', 'MAX_CONTAINS', original.maxContains, update.maxContains)
  notLess(findings, 'minContains', 'MIN_CONTAINS', original.minContains, update.minContains)
  if (update.isUnique && !original.isUnique) findings.note('UNIQUE_ITEMS_ADDED', '/uniqueItems')
  if (update.items !== null) {
    if (original.items === null) findings.note('SCHEMA_ADDED', '/items')
    else yield* comparePart(findings, '/items', original.items, update.items)
  }
  yield* compareTuples(findings, original, update)
  yield* compareRest(findings, 'additionalItems', 'ADDITIONAL_ITEMS', original.additional, update.additional)
  yield* compareUnevaluated(findings, 'unevaluatedItems', 'UNEVALUATED_ITEMS', original.unevaluated, update.unevaluated)
}

function* compareTuples(findings: Findings, original: ArrayNode, update: ArrayNode): Steps {
  const most = Math.max(original.tuple.length, update.tuple.length)
  for (let index = 0; index < most && !findings.isDone; index++) {
    const at = `/items/${index}`
    const was = original.tuple[index]
    const is = update.tuple[index]
    if (was === undefined) yield* compareAdded(findings, at, original, is!)
    else if (is === undefined) yield* compareRemoved(findings, at, was, update)
    else yield* comparePart(findings, at, was, is)
  }
}

function* compareRemoved(findings: Findings, at: string, was: Part, update: ArrayNode): Steps {
  if (isOpen(update)) return
  const cover = coverOf(update)
  if (cover !== null) {
    const pair = { original: was.node, update: cover.node }
    if (yield pair) return
    findings.note('ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL', at)
    findings.blame(at, pair)
  } else if (was.isRef || was.node.kind !== 'false') findings.note('ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL', at)
}

function* compareAdded(findings: Findings, at: string, original: ArrayNode, is: Part): Steps {
  if (isOpen(original)) {
    if (is.isRef || is.node.kind !== 'any') findings.note('ITEM_ADDED_TO_OPEN_CONTENT_MODEL', at)
    return
  }
  const cover = coverOf(original)
  if (cover === null) return
  const pair = { original: cover.node, update: is.node }
  if (yield pair) return
  findings.note('ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL', at)
  findings.blame(at, pair)
}

/** Whether any other item may follow. */
function isOpen({ additional, unevaluated }: ArrayNode): boolean {
  return additional === null && (unevaluated === null || unevaluated.node.kind === 'any')
}

/** The schema that an item without a schema of its own has to match; null if no such item is allowed, or any. */
function coverOf({ additional, unevaluated }: ArrayNode): Part | null {
  if (additional !== null) return additional === false ? null : additional
  const kind = unevaluated?.node.kind ?? 'any'
  return kind === 'false' || kind === 'any' ? null : unevaluated
}
