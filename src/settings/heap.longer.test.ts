// A heap snapshot, which people share to find a leak, contains every string of a process. It must not contain the
// secrets of the settings.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { fullKey, keys, settingsTable } from './settings.ts'

const SECRETS = keys.filter(key => {
  const { shape } = settingsTable[key]
  return shape.kind === 'one' && shape.type.name === 'secret'
})

/** A secret key is refused without its name. */
const BESIDE = 'svc.storage.remote.s3.access-key-id: a-key'

/** Loads the settings of the file, reads each secret once, and writes a snapshot. */
const PROGRAM = `
import { readFileSync } from 'node:fs'
import { writeHeapSnapshot } from 'node:v8'
const { loadSettings } = await import(${JSON.stringify(new URL('load.ts', import.meta.url).href)})
const load = () => loadSettings({ argv: [], env: {}, cwd: process.cwd(), readFile: path => readFileSync(path) })
globalThis.settings = load()
for (const key of ${JSON.stringify(SECRETS)}) if (globalThis.settings.get(key) === null) throw new Error(key)
writeHeapSnapshot('snapshot')
`

test('no secret of the settings is in a heap snapshot', async t => {
  const folder = await temporaryFolder(t, 'ketch-heap-')
  const marker = 'sesame-4c1d7e'
  const given = SECRETS.map(key => `${fullKey(key)}: ${marker}-${key}-${'x'.repeat(32)}`)
  await writeFile(join(folder, 'svc.yaml'), `${given.join('\n')}\nsvc.namespace: seen-7a2b\n${BESIDE}\n`)
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  const snapshot = await readFile(join(folder, 'snapshot'), 'utf8')
  assert.ok(snapshot.includes('seen-7a2b'), 'the snapshot has the settings')
  assert.ok(!snapshot.includes(marker))
})
