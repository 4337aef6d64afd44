// Records that claim far more than they hold, from a real producer: they are refused at once, and the broker goes on.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { NONE } from '../../src/protocol/errors.ts'
import { framed } from '../../src/registry/payload/framing.ts'
import { startJudgedBroker } from '../../testing/judged-broker.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { runCommand } from '../command.ts'
import { PYTHON } from '../python/client.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const noPython = spawnSync(PYTHON, ['-c', 'import confluent_kafka']).status === 0 ? false : 'SKIPPED confluent_kafka'

const EMPTY = { type: 'record', name: 'Empty', fields: [] }
const NULLS = {
  type: 'record',
  name: 'Nulls',
  fields: [
    { name: 'a', type: 'null' },
    { name: 'b', type: EMPTY },
  ],
}

/** The items of each array take no bytes. */
const ITEMS: readonly (readonly [string, object | string])[] = [
  ['null', 'null'],
  ['a record without fields', EMPTY],
  ['a record of nulls', NULLS],
]

/** 2^31 items: in one block, in a block that says its size, and in two blocks. The last byte ends the array. */
const BODIES = [hex('80 80 80 80 10 00'), hex('ff ff ff ff 0f 00 00'), hex('80 80 80 80 08 80 80 80 80 08 00')]
/** Each would take seconds if its items were counted one by one. */
const RECORDS = 150
const MOST = 10_000

for (const [name, items] of ITEMS) {
  test(`2^31 items of ${name} are refused record by record, and a producer of good ones goes on`, {
    skip: noPython,
  }, async t => {
    const judged = await startJudgedBroker(t)
    const id = await judged.register('t-value', { type: 'array', items })
    // As many as may be: zigzag, then a varint.
    const good = framed(id, hex('a0 9c 01 00'))
    const values = Array.from({ length: RECORDS }, (_, i) => (i % 10 === 9 ? good : framed(id, BODIES[i % 3]!)))
    const file = join(newFolder(t), 'values')
    writeFileSync(file, values.map(value => value.toString('base64')).join('\n'))
    const output = await runCommand(PYTHON, [join(import.meta.dirname, 'judged.py'), judged.broker.address, 't', file])
    assert.deepEqual(
      output.toString().trim().split('\n'),
      values.map((value, i) => `${i} ${value === good ? 'ok' : 'INVALID_RECORD'}`),
    )
    const { recordErrors } = await judged.produce([{ value: good }, { value: framed(id, BODIES[0]!) }])
    assert.deepEqual(
      recordErrors.map(({ batchIndex, batchIndexErrorMessage }) => [batchIndex, batchIndexErrorMessage]),
      [
        [
          1,
          `The value breaks the rule too-many-elements: at byte 0: more than ${MOST} items without bytes (schema id ${id} of the subject "t-value").`,
        ],
      ],
    )
    assert.equal((await judged.produce([{ value: good }])).errorCode, NONE)
  })
}
