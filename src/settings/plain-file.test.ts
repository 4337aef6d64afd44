import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { loadSettings } from './load.ts'
import { readPlainFile } from './plain-file.ts'

test('a settings file is a regular file of limited size, and the error names any other kind of file at once', async t => {
  const cwd = await temporaryFolder(t, 'ketch-')
  const load = (path: string) => loadSettings({ argv: ['--config', path], env: {}, cwd, readFile: readPlainFile })
  assert.equal(spawnSync('mkfifo', [join(cwd, 'fifo')]).status, 0)
  const huge = openSync(join(cwd, 'huge'), 'w')
  ftruncateSync(huge, 2 ** 40)
  closeSync(huge)
  const cases: [string, string][] = [
    ['fifo', "--config: got 'fifo', but it is a FIFO, and a regular file is read"],
    ['.', "--config: got '.', but it is a directory, and a regular file is read"],
    ['/dev/zero', "--config: got '/dev/zero', but it is a device, and a regular file is read"],
    ['nothing', "--config: got 'nothing', but there is no such file"],
    ['huge', 'huge: got a file of more than 1MB, takes a settings file of at most 1MB'],
  ]
  for (const [path, message] of cases) assert.throws(() => load(path), { name: 'SettingsError', message })
  await writeFile(join(cwd, 'good.yaml'), 'svc.broker.id: 7\n')
  assert.equal(load('good.yaml').get('broker.id'), 7)
})

test('a read takes at most one byte of a file more than the limit', async t => {
  const cwd = await temporaryFolder(t, 'ketch-')
  const path = join(cwd, 'file')
  for (const [text, expected] of [
    ['', ''],
    ['abc', 'abc'],
    ['abcd', 'abcd'],
    ['abcde', 'abcd'],
  ] as const) {
    await writeFile(path, text)
    assert.equal(Buffer.from(readPlainFile(path, 3)).toString(), expected)
  }
})
