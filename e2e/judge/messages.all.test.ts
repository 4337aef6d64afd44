import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMessage, encodeMessage } from '../../src/protocol/codec.ts'
import { messages } from '../../src/protocol/messages/all.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
} from '../../src/protocol/messages/consumer-protocol.ts'
import { layout, type Message, type Slot } from '../../src/protocol/schema.ts'
import { fc } from '../../testing/property.ts'
import { seed } from '../../testing/seed.ts'
import { anyFields } from '../../testing/values.ts'
import { judge, judgeAbsence } from './judge.ts'

const VALUES_PER_VERSION = 25

/** Returns the value in the form of Kafka's JSON converters, which distinguish 1.0 and 1. */
function jsonOf(slot: Slot, value: unknown): string {
  if (value === null) return 'null'
  switch (slot.kind) {
    case 'bytes':
    case 'records':
      return JSON.stringify((value as Buffer).toString('base64'))
    case 'float64':
      return Object.is(value, -0) ? '-0.0' : (value as number).toExponential()
    case 'array':
      return `[${(value as unknown[]).map(element => jsonOf(slot.element!, element)).join()}]`
    case 'struct':
      return jsonOfFields(slot.slots!, value as Record<string, unknown>)
    default:
      return JSON.stringify(value)
  }
}

function jsonOfFields(slots: readonly Slot[], value: Record<string, unknown>): string {
  const present = slots.filter(slot => slot.present)
  return `{${present.map(slot => `${JSON.stringify(slot.name)}:${jsonOf(slot, value[slot.name])}`).join()}}`
}

const all: readonly Message[] = [
  ...messages.flatMap(api => [api.request, api.response]),
  consumerProtocolSubscription,
  consumerProtocolAssignment,
]

test("on random values our bytes are those of Kafka's own classes, and each side reads what the other wrote", {
  skip: judgeAbsence() ?? false,
}, async t => {
  const cases = all.flatMap(message =>
    Array.from({ length: message.versions.max - message.versions.min + 1 }, (_, i) => {
      const version = message.versions.min + i
      const slots = layout(message, version)
      return fc.sample(anyFields(slots), { seed, numRuns: VALUES_PER_VERSION }).map(value => ({
        message,
        version,
        value,
        question: {
          name: message.name,
          version,
          json: jsonOfFields(slots, value),
          hex: Buffer.concat(encodeMessage(message, version, value as never)).toString('hex'),
        },
      }))
    }).flat(),
  )
  const verdicts = await judge(cases.map(({ question }) => question))
  assert.equal(verdicts.length, cases.length)
  t.diagnostic(`${cases.length} values of ${all.length} messages, seed ${seed}`)
  for (const [i, { message, version, value, question }] of cases.entries()) {
    const about = `${message.name} ${version}, seed ${seed}: ${question.json}`
    const verdict = verdicts[i]!
    assert.ok(!('error' in verdict), `${about}\n${'error' in verdict ? verdict.error : ''}`)
    assert.equal(question.hex, verdict.written, `what each writes for ${about}`)
    assert.equal(verdict.rewritten, question.hex, `what Kafka reads of our bytes, written again, for ${about}`)
    assert.deepEqual(decodeMessage(message, version, Buffer.from(verdict.written, 'hex')), value, about)
  }
})
