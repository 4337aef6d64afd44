// Google's library for Python as the judge of proto3 JSON: random messages are valid, have the same JSON here and
// there, and come back from both texts as the same message.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decode } from '../../src/registry/protobuf/decode.ts'
import { encode } from '../../src/registry/protobuf/encode.ts'
import { protobuf } from '../../src/registry/protobuf/protobuf.ts'
import { hasProgram, outputOf } from '../../testing/programs.ts'
import { seed } from '../../testing/seed.ts'

const skip = absence() ?? false

const PROTOS = join(import.meta.dirname, 'protos')
const SCRIPT = join(import.meta.dirname, 'messages.py')
const FILES = ['every-kind-2.proto', 'every-kind-3.proto']
const MESSAGES = ['acme.three.All', 'acme.three.Second', 'acme.full.M', 'acme.full.Opt']
const COUNT = 1_000
const MOST = 10_000_000

const folder = mkdtempSync(join(tmpdir(), 'ketch-json-'))
after(() => rmSync(folder, { recursive: true }))

function absence(): string | null {
  if (!hasProgram('protoc')) return 'SKIPPED protoc: apt-get install protobuf-compiler'
  const { status } = spawnSync('/usr/bin/python3', ['-c', 'import google.protobuf'])
  return status === 0 ? null : 'SKIPPED proto3 JSON: apt-get install python3-protobuf'
}

test('payloads have the JSON of Google, and come back from it', { skip, timeout: 300_000 }, () => {
  const set = join(folder, 'set')
  const options = ['--experimental_allow_proto3_optional', '--include_imports', `--descriptor_set_out=${set}`]
  outputOf('protoc', [...options, `-I${PROTOS}`, '-I/usr/include', ...FILES])
  const made = outputOf('/usr/bin/python3', [SCRIPT, 'make', set, String(seed), String(COUNT), ...MESSAGES])
  const programs = FILES.map(name => compiled(readFileSync(join(PROTOS, name), 'utf8')))
  const back: string[] = []
  for (const line of made.trim().split('\n')) {
    const [name, hex, json] = JSON.parse(line) as [string, string, string]
    const program = programs.find(({ messages }) => messages.some(({ fullName }) => fullName === name))
    assert.ok(program !== undefined, name)
    const message = program.messages.findIndex(({ fullName }) => fullName === name)
    const bytes = Buffer.from(hex, 'hex')
    const text = decode(program, message, bytes, 0, bytes.length, MOST)
    assert.ok(typeof text === 'string', `${JSON.stringify(text)} ${hex}`)
    assert.deepEqual(JSON.parse(text), JSON.parse(json))
    for (const source of [text, json]) {
      const again = encode(program, message, source, MOST)
      assert.ok(again instanceof Uint8Array, JSON.stringify(again))
      back.push(JSON.stringify([name, hex, Buffer.from(again).toString('hex')]))
    }
  }
  assert.equal(back.length, 2 * COUNT)
  const { stdout, stderr } = spawnSync('/usr/bin/python3', [SCRIPT, 'same', set], {
    input: back.join('\n'),
    encoding: 'utf8',
  })
  assert.equal(stdout + stderr, '')
})

function compiled(text: string) {
  return protobuf.compile(protobuf.parse({ text, dependencies: [] }, 'new'))
}
