import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { membersOfAnswer } from './answer-members.ts'

test('the members of an answer are those that are always there, and lists are marked', () => {
  const shape = z.object({
    name: z.string(),
    rows: z.array(z.string()),
    size: z.int().nullable(),
    note: z.string().optional(),
    list: z.array(z.int()).nullable(),
  })
  assert.equal(membersOfAnswer({ answers: { 200: shape } }), 'name rows[] size list')
  assert.equal(membersOfAnswer({ answers: { 204: null, 304: null } }), '')
  assert.equal(membersOfAnswer({ answers: { 304: null, 201: z.object({ id: z.int() }) } }), 'id')
})
