import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareTools } from './compare.ts'
import { type Difference, differences } from './differences.ts'
import { toolsAbsence } from './tools.ts'

const skip = toolsAbsence() ?? false

test("Kafka's command-line tools print the same as against Apache Kafka, except for known differences", {
  skip,
  timeout: 900_000,
}, async t => {
  const seen = new Set<Difference>()
  for await (const { command, known, unexplained } of compareTools(t)) {
    await t.test(command, () => assert.deepEqual(unexplained, []))
    for (const difference of known) seen.add(difference)
  }
  await t.test('every known difference is still there', () => {
    assert.deepEqual(
      differences.filter(difference => !seen.has(difference)).map(({ why }) => why),
      [],
    )
  })
})
