// Audits the documents of a registry: each id has one schema, all that a subject names exists, and no reference leads
// nowhere.

import assert from 'node:assert/strict'
import type { Store } from '../src/store/store.ts'

const json = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString())

/** Throws an AssertionError that names the first inconsistency. Resolves with the owners of all ids. */
export async function auditRegistry(store: Store): Promise<ReadonlyMap<number, string>> {
  const contents = new Map<string, number>()
  for (const { name, fields } of await store.list('schema-content')) contents.set(name, json(fields.get('content')!).id)
  const owners = new Map<number, string>()
  for (const { name, fields } of await store.list('schema-id'))
    owners.set(Number(name), json(fields.get('schema')!).guid)
  const counter = await store.load('schemas', 'counter')
  const last = counter === null ? 0 : json(counter.fields.get('counter')!).last
  for (const [guid, id] of contents) {
    assert.ok(id <= last, `the schema ${guid} has id ${id}, and the counter is at ${last}`)
    assert.ok((owners.get(id) ?? guid) === guid, `the id ${id} of schema ${guid} belongs to ${owners.get(id)}`)
  }
  for (const id of owners.keys()) assert.ok(id <= last, `id ${id} is in use, and the counter is at ${last}`)
  const rows = new Map<string, StoredRow>()
  for (const { name, fields } of await store.list('schema-subject')) {
    for (const [field, bytes] of fields) {
      if (!/^v\d+$/.test(field)) continue
      const row: StoredRow = json(bytes)
      rows.set(`${name} ${field}`, row)
      assert.ok(contents.has(row.guid), `${name} ${field} names a schema that does not exist`)
      assert.equal(owners.get(row.id), row.guid, `${name} ${field} has id ${row.id} of another schema`)
    }
  }
  for (const [place, { isDeleted, references }] of rows) {
    for (const [subject, version] of references) {
      const referred = rows.get(`${subject} v${version}`)
      assert.ok(referred !== undefined, `${place} refers to ${subject} ${version}, which does not exist`)
      assert.ok(isDeleted || !referred.isDeleted, `${place} refers to ${subject} ${version}, which is deleted`)
    }
  }
  return owners
}

interface StoredRow {
  readonly id: number
  readonly guid: string
  readonly isDeleted: boolean
  readonly references: readonly (readonly [subject: string, version: number])[]
}
