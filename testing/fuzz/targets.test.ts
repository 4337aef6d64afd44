import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import { formerCrashes } from '../corpus.ts'
import { mutate } from '../mutation.ts'
import { targets } from './targets.ts'

for (const target of targets) {
  test(`${target.name} withstands its seeds, everything that it once failed on, and some damage`, async () => {
    const seeds = target.seeds()
    for (const seed of seeds) await target.run(seed)
    for (const { name, bytes } of formerCrashes(target.name)) {
      await assert.doesNotReject(async () => target.run(bytes), `${target.name}/${name}`)
    }
    const random = seededRandom(11)
    for (let i = 0; i < 200; i++) await target.run(mutate(seeds[i % seeds.length]!, random))
  })
}
