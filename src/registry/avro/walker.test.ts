import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeOf } from '../../../testing/avro.ts'
import { SchemaMaker, textOf } from '../../../testing/avro-schemas.ts'
import { seed } from '../../../testing/seed.ts'
import { seededRandom } from '../../base/random.ts'
import { avro } from './avro.ts'
import { decodeAvro } from './decode.ts'
import { encodeAvro } from './encode.ts'
import { AvroWalker } from './walker.ts'

const random = seededRandom(seed)
let n = 0, skipped = 0, lax = 0, valid = 0, differ = 0
const reasons: Record<string, number> = {}
test('walker and avsc', () => {
  while (n < 4000) {
    const schema = new SchemaMaker(random).schema()
    const text = textOf(schema)
    const judge = judgeOf(text)
    if (judge === null) { skipped++; continue }
    let program
    try { program = avro.compile(avro.parse({ text, dependencies: [] }, 'stored')) } catch (e) { continue }
    const walker = new AvroWalker(program)
    for (let i = 0; i < 4; i++) {
      let bytes: Buffer
      try { bytes = judge.sample(random) } catch { break }
      walker.begin(bytes, 0, bytes.length)
      assert.equal(walker.run(1e9), null, text)
      valid++
      const json = decodeAvro(program, bytes, 0, bytes.length, 1e6)
      assert.equal(typeof json, 'string')
      const again = encodeAvro(program, json as string, 1e6)
      assert.ok(Buffer.isBuffer(again), text + '\n' + json + JSON.stringify(again))
      if (!again.equals(bytes)) { differ++; assert.equal(decodeAvro(program, again, 0, again.length, 1e6), json) }
      for (let m = 0; m < 4; m++) {
        const mutated = Buffer.from(bytes)
        const kind = random.below(3)
        let mut = mutated
        if (kind === 0 && mut.length) mut[random.below(mut.length)] = random.below(256)
        else if (kind === 1) mut = mut.subarray(0, random.below(mut.length + 1))
        else mut = Buffer.concat([mut, random.bytes(1 + random.below(2))])
        n++
        walker.begin(mut, 0, mut.length)
        let r = walker.run(3)
        let guard = 0
        while (r === 'more' && guard++ < 1e5) r = walker.run(3)
        walker.begin(mut, 0, mut.length)
        assert.deepEqual(walker.run(1e9), r)
        if (r !== null && /array|map/.test(text)) continue
        const theirs = judge.read(mut) !== undefined
        if (theirs !== (r === null)) {
          if (theirs) { lax++; const k = (r as any).message.replace(/.*: /, '').replace(/\d+/g, 'N'); reasons[k] = (reasons[k] ?? 0) + 1 }
          else assert.fail('avsc refuses: ' + text + ' ' + mut.toString('hex'))
        }
      }
    }
  }
  console.log({ n, skipped, lax, valid, differ, reasons })
})
