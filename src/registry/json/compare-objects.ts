// The rules for objects: properties by the content model, `required`, dependencies, limits.

import type { Findings, Steps } from './findings.ts'
import { isSubset, notLess, notMore } from './findings.ts'
import type { ObjectNode, Part, Rest } from './nodes.ts'

export function* compareObjects(findings: Findings, original: ObjectNode, update: ObjectNode): Steps {
  notMore(findings, 'maxProperties', 'MAX_PROPERTIES', original.maxProperties, update.maxProperties)
  notLess(findings, 'minProperties', 'MIN_PROPERTIES', original.minProperties, update.minProperties)
  compareRequired(findings, original, update)
  compareDependencies(findings, original, update)
  yield* compareProperties(findings, original, update)
  for (const [name, schema] of update.dependentSchemas) {
    if (findings.isDone) return
    const at = `/dependencies/${name}`
    const was = original.dependentSchemas.get(name)
    if (was === undefined) findings.note('DEPENDENCY_SCHEMA_ADDED', at)
    else yield* comparePart(findings, at, was, schema)
  }
  yield* compareRest(findings, 'additionalProperties', 'ADDITIONAL_PROPERTIES', original.additional, update.additional)
  yield* compareUnevaluated(
    findings,
    'unevaluatedProperties',
    'UNEVALUATED_PROPERTIES',
    original.unevaluated,
    update.unevaluated,
  )
}

/** Compares two parts; their reasons are reasons of the whole. */
export function* comparePart(findings: Findings, at: string, original: Part, update: Part): Steps {
  const pair = { original: original.node, update: update.node }
  if (!(yield pair)) findings.blame(at, pair)
}

type RestOf = 'ADDITIONAL_PROPERTIES' | 'ADDITIONAL_ITEMS'
type UnevaluatedOf = 'UNEVALUATED_PROPERTIES' | 'UNEVALUATED_ITEMS'

/** Compares what may stand beside the named parts. */
export function* compareRest(findings: Findings, keyword: string, of: RestOf, original: Rest, update: Rest): Steps {
  const at = `/${keyword}`
  if (update === null) return
  if (update === false) {
    if (original !== false) findings.note(`${of}_REMOVED`, at)
  } else if (original === null) findings.note(`${of}_NARROWED`, at)
  else if (original !== false) yield* comparePart(findings, at, original, update)
}

export function* compareUnevaluated(
  findings: Findings,
  keyword: string,
  of: UnevaluatedOf,
  original: Part | null,
  update: Part | null,
): Steps {
  const at = `/${keyword}`
  if (update === null) return
  const was = original?.node.kind ?? 'any'
  const is = update.node.kind
  if (is === 'false') {
    if (was !== 'false') findings.note(`${of}_REMOVED`, at)
  } else if (original === null || (was === 'any' && is !== 'any')) findings.note(`${of}_NARROWED`, at)
  else if (was !== 'false') yield* comparePart(findings, at, original, update)
}

function compareRequired(findings: Findings, original: ObjectNode, update: ObjectNode): void {
  for (const name of update.required) {
    const part = update.properties.get(name)
    if (part === undefined || part.hasDefault) continue
    if (!original.properties.has(name) || original.required.has(name)) continue
    findings.note('REQUIRED_ATTRIBUTE_ADDED', `/required/${name}`)
  }
}

function compareDependencies(findings: Findings, original: ObjectNode, update: ObjectNode): void {
  for (const [name, names] of update.dependentRequired) {
    const at = `/dependencies/${name}`
    const was = original.dependentRequired.get(name)
    if (was === undefined) findings.note('DEPENDENCY_ARRAY_ADDED', at, '', names)
    else if (isSubset(names, was)) continue
    else if (isSubset(was, names)) findings.note('DEPENDENCY_ARRAY_EXTENDED', at, was, names)
    else findings.note('DEPENDENCY_ARRAY_CHANGED', at, was, names)
  }
}

function* compareProperties(findings: Findings, original: ObjectNode, update: ObjectNode): Steps {
  for (const [name, was] of original.properties) {
    if (findings.isDone) return
    const is = update.properties.get(name)
    const at = `/properties/${name}`
    if (is !== undefined) yield* comparePart(findings, at, was, is)
    else yield* compareRemoved(findings, at, name, was, update)
  }
  for (const [name, is] of update.properties) {
    if (findings.isDone) return
    if (!original.properties.has(name)) yield* compareAdded(findings, `/properties/${name}`, name, original, is, update)
  }
}

/** The reader does not name the property: its content model decides. */
function* compareRemoved(findings: Findings, at: string, name: string, was: Part, update: ObjectNode): Steps {
  if (isOpen(update)) return
  const cover = coverOf(update, name)
  if (cover !== null) {
    const pair = { original: was.node, update: cover.node }
    if (yield pair) return
    findings.note('PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL', at)
    findings.blame(at, pair)
  } else if (was.isRef || was.node.kind !== 'false') findings.note('PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL', at)
}

/** The writer does not name the property: its content model decides. */
function* compareAdded(
  findings: Findings,
  at: string,
  name: string,
  original: ObjectNode,
  is: Part,
  update: ObjectNode,
): Steps {
  const isRequired = update.required.has(name)
  if (isOpen(original)) {
    if (!is.isRef && is.node.kind === 'any') return
    if (!isRequired) findings.note('OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL', at)
    else if (is.hasDefault) findings.note('REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL', at)
    else findings.note('REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL', at)
    return
  }
  const cover = coverOf(original, name)
  if (cover !== null) {
    const pair = { original: cover.node, update: is.node }
    if (!(yield pair)) {
      findings.note('PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL', at)
      findings.blame(at, pair)
    }
  }
  if (isRequired && !is.hasDefault) findings.note('REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL', at)
}

/** Whether any other property is allowed. */
function isOpen({ additional, patterns, unevaluated }: ObjectNode): boolean {
  return additional === null && patterns.length === 0 && (unevaluated === null || unevaluated.node.kind === 'any')
}

/** The schema that a property without a name of its own has to match; null if no such property is allowed, or any. */
function coverOf({ additional, patterns, unevaluated }: ObjectNode, name: string): Part | null {
  for (const [pattern, part] of patterns) if (pattern.test(name)) return part
  if (additional !== null) return additional === false ? null : additional
  const kind = unevaluated?.node.kind ?? 'any'
  return kind === 'false' || kind === 'any' ? null : unevaluated
}
