// Kills brokers with SIGKILL while schemas are registered, and audits what is stored.

import assert from 'node:assert/strict'
import type { Random } from '../../src/base/random.ts'
import type { Store } from '../../src/store/store.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { auditRegistry } from '../../testing/registry-audit.ts'
import { startRegistrars } from './registrars.ts'

/** Registrations that are answered between two kills. */
const LEAST_PROGRESS = 10
const PROGRESS_SPREAD = 40

/**
 * Kills one of the brokers after the other, and starts it again. Asserts that every broker resolves everything that
 * any of them has answered, and that no id has two schemas. Resolves with a sentence about what was done.
 */
export async function killUnderRegistrations(
  brokers: readonly BrokerProcess[],
  { kills, random, openStore }: { kills: number; random: Random; openStore(): Promise<Store> },
): Promise<string> {
  const registrars = await startRegistrars(brokers, random)
  try {
    for (let kill = 0; kill < kills; kill++) {
      const from = registrars.answers
      await registrars.progress(LEAST_PROGRESS + random.below(PROGRESS_SPREAD))
      const broker = brokers[random.below(brokers.length)]!
      await broker.kill('SIGKILL')
      // The others go on without it.
      if (brokers.length > 1) await registrars.progress(LEAST_PROGRESS)
      await broker.start()
      await registrars.verify(from)
    }
  } finally {
    await registrars.stop()
  }
  await registrars.verify()
  for (const broker of brokers) assert.equal(await broker.kill('SIGTERM'), 0)
  const owners = await auditRegistry(await openStore())
  for (const id of registrars.texts.keys()) assert.ok(owners.has(id), `id ${id} is stored`)
  return `${kills} kills, ${registrars.answers} answers, ${registrars.texts.size} ids`
}
