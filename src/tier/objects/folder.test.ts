import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { openFolder } from './folder.ts'
import { folderError } from './folder-errors.ts'
import { ObjectStoreError } from './objects.ts'
import { stageFile } from './staged-file.ts'

async function open(t: TestContext, folder: string, warn: (text: string) => void = assert.fail) {
  const objects = await openFolder(folder, { clock: systemClock, random: systemRandom, warn })
  t.after(() => objects.close())
  return objects
}

const failing = (kind: ObjectStoreError['kind'], message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ObjectStoreError, String(error))
  assert.equal(error.kind, kind, error.message)
  assert.match(error.message, message)
  return true
}

const A = Buffer.from('a')

test('an object is a file below the folder, and the folder may be new', async t => {
  const folder = join(await temporaryFolder(t, 'ketch-objects-'), 'new', 'tables')
  const objects = await open(t, folder)
  assert.equal(objects.uri, `file://${folder}`)
  await objects.write('topic/data/a b.parquet', A)
  assert.equal(await readFile(join(folder, 'topic/data/a b.parquet'), 'utf8'), 'a')
  assert.deepEqual(await readdir(join(folder, 'topic/data')), ['a b.parquet'])
})

test('symbolic links below the folder are refused and not listed', async t => {
  const base = await temporaryFolder(t, 'ketch-objects-')
  const folder = join(base, 'place')
  const outside = join(base, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'secret')
  const objects = await open(t, folder)
  await objects.write('real/file', A)
  await symlink(outside, join(folder, 'link'))
  await symlink(join(outside, 'secret'), join(folder, 'real/link'))
  await symlink(join(outside, 'nothing'), join(folder, 'dangling'))
  const refused = failing('refused', /symbolic links are not followed/)
  for (const key of ['link/secret', 'real/link']) {
    await assert.rejects(objects.read(key), refused)
    await assert.rejects(objects.stat(key), refused)
  }
  for (const key of ['link/new', 'link/deep/new', 'dangling/new']) {
    await assert.rejects(objects.write(key, A), refused)
    await assert.rejects(objects.create(key, A), refused)
  }
  await assert.rejects(objects.delete(['link/secret']), refused)
  assert.equal(await objects.create('real/link', A), 'exists')
  assert.deepEqual(
    (await Array.fromAsync(objects.list(''))).map(({ key }) => key),
    ['real/file'],
  )
  await objects.replace('real/link', A)
  assert.deepEqual(await readdir(outside), ['secret'])
  assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'secret')
})

test('the folder itself may be a symbolic link', async t => {
  const base = await temporaryFolder(t, 'ketch-objects-')
  await mkdir(join(base, 'disk'))
  await symlink(join(base, 'disk'), join(base, 'place'))
  const objects = await open(t, join(base, 'place'))
  await objects.write('a/b', A)
  assert.equal((await objects.read('a/b'))?.length, 1)
  assert.equal((await Array.fromAsync(objects.list('a'))).length, 1)
  assert.equal(await readFile(join(base, 'disk/a/b'), 'utf8'), 'a')
})

test('left-over files are never listed, and an opening removes those that are older than a day', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  await mkdir(join(folder, 'data/day'), { recursive: true })
  const hoursAgo = (hours: number) => (systemClock.now() - hours * 3600_000) / 1_000
  for (const [name, hours] of [
    ['.ketch-old', 25],
    ['data/day/.ketch-old', 25],
    ['data/day/.ketch-young', 23],
    ['data/day/.ketch-future', -48],
    ['data/day/old.parquet', 1_000],
    ['data/day/.other', 1_000],
  ] as const) {
    await writeFile(join(folder, name), name)
    await utimes(join(folder, name), hoursAgo(hours), hoursAgo(hours))
  }
  const objects = await openFolder(folder, { clock: systemClock, random: systemRandom, warn: assert.fail })
  assert.deepEqual(
    (await Array.fromAsync(objects.list(''))).map(({ key }) => key),
    ['data/day/.other', 'data/day/old.parquet'],
  )
  // The sweep goes on while the folder is used.
  const names = () => readdir(join(folder, 'data/day'))
  await eventually('the old file is removed', async () => !(await names()).includes('.ketch-old'))
  assert.deepEqual((await names()).toSorted(), ['.ketch-future', '.ketch-young', '.other', 'old.parquet'])
  assert.deepEqual(await readdir(folder), ['data'])
  await objects.close()
})

test('a folder that has disappeared is away, and is not created again', async t => {
  const folder = join(await temporaryFolder(t, 'ketch-objects-'), 'place')
  const objects = await open(t, folder)
  await objects.write('a', A)
  await rm(folder, { recursive: true })
  const away = failing('away', /the folder does not exist/)
  await assert.rejects(objects.read('a'), away)
  await assert.rejects(objects.stat('a'), away)
  await assert.rejects(objects.write('a', A), away)
  await assert.rejects(objects.create('a', A), away)
  await assert.rejects(objects.delete(['a']), away)
  await assert.rejects(Array.fromAsync(objects.list('')), away)
  await assert.rejects(readdir(folder), { code: 'ENOENT' })
})

test('a folder that cannot be created is told, and rejects each call', async t => {
  const file = join(await temporaryFolder(t, 'ketch-objects-'), 'file')
  await writeFile(file, '')
  const warnings: string[] = []
  const objects = await open(t, join(file, 'place'), text => warnings.push(text))
  assert.match(warnings.join(), /cannot create the folder .*\/file\/place: ENOTDIR/)
  await assert.rejects(objects.read('a'), failing('away', /the folder does not exist/))
})

test('a file in the place of the folder is told, and is not taken for an empty folder', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const file = join(folder, 'file')
  await writeFile(file, '')
  const warned: string[] = []
  const objects = await open(t, file, text => warned.push(text))
  assert.deepEqual(warned, [`cannot create the folder ${file}: a file has this name`])
  const away = failing('away', /\/file: the folder does not exist: it is a file, or a part of its path is one$/)
  await assert.rejects(objects.read('a'), away)
  await assert.rejects(objects.stat('a/b'), away)
  await assert.rejects(objects.create('a', A), away)
  await assert.rejects(Array.fromAsync(objects.list('')), away)
})

test('a folder in a file system that creates none is told at once', async t => {
  const warned: string[] = []
  await open(t, '/proc/ketch/tables', text => warned.push(text))
  assert.match(warned[0] ?? '', /^cannot create the folder \/proc\/ketch\/tables: ENOENT/)
})

test('a file that is not a plain one is refused, and a read does not wait for it', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const objects = await open(t, folder)
  assert.equal(spawnSync('mkfifo', [join(folder, 'pipe')]).status, 0)
  await assert.rejects(objects.read('pipe'), failing('refused', /\/pipe: it is not a file/))
  assert.equal(await objects.stat('pipe'), null)
  assert.deepEqual(await Array.fromAsync(objects.list('')), [])
})

test('a file that another program made too large for memory is refused, and parts of it can be read', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const objects = await open(t, folder)
  await writeFile(join(folder, 'huge'), A)
  await truncate(join(folder, 'huge'), 2 ** 40)
  await assert.rejects(
    objects.read('huge'),
    failing('refused', /huge: 1099511627776 bytes are more than the 67108864 /),
  )
  await assert.rejects(objects.read('huge', { start: 0, end: 2 ** 39 }), failing('refused', /huge: 549755813888 bytes/))
  assert.deepEqual(Buffer.from((await objects.read('huge', { start: 0, end: 1 }))!), A)
})

test('an object cannot be written below another object, or in place of a folder', async t => {
  const objects = await open(t, await temporaryFolder(t, 'ketch-objects-'))
  await objects.write('a', A)
  await objects.write('b/c', A)
  await assert.rejects(
    objects.write('a/b', A),
    failing('refused', /cannot create the folder .*\/a: a file has this name/),
  )
  await assert.rejects(
    objects.write('b', A),
    failing('refused', /cannot write .*\/b: a folder has this name \(EISDIR\)/),
  )
  assert.equal(await objects.create('b', A), 'exists')
  assert.deepEqual(
    (await Array.fromAsync(objects.list(''))).map(({ key }) => key),
    ['a', 'b/c'],
  )
})

test('a delete removes the folders that it empties, and no others', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const objects = await open(t, folder)
  await objects.write('t/data/p=0/day=1/a', A)
  await objects.write('t/data/p=0/day=2/a', A)
  await mkdir(join(folder, 'empty'))
  await objects.delete(['t/data/p=0/day=1/a'])
  assert.deepEqual(await readdir(join(folder, 't/data/p=0')), ['day=2'])
  await writeFile(join(folder, 't/foreign'), '')
  await objects.delete(['t/data/p=0/day=2/a'])
  assert.deepEqual(await readdir(join(folder, 't')), ['foreign'])
  await objects.delete(['t/foreign'])
  assert.deepEqual(await readdir(folder), ['empty'])
})

test('of creates by two instances, one succeeds', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const both = [await open(t, folder), await open(t, folder)]
  for (let round = 0; round < 20; round++) {
    const results = await Promise.all(both.map((objects, n) => objects.create(`m/v${round}`, Buffer.from([n]))))
    assert.deepEqual(results.toSorted(), ['created', 'exists'])
    assert.equal((await both[0]!.read(`m/v${round}`))![0], results.indexOf('created'))
  }
})

test('a write that fails leaves no file', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const objects = await open(t, folder)
  const parts = async function* () {
    yield A
    throw new Error('the encoder failed')
  }
  await assert.rejects(objects.write('a', parts()), /the encoder failed/)
  assert.deepEqual(await readdir(folder), [])
})

test('a link that was made counts, even if its answer was lost and its repetition failed', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const staged = (await stageFile(folder, A, { random: systemRandom, warn: assert.fail }))!
  assert.equal(await staged.linkTo(join(folder, 'a')), true)
  assert.equal(await staged.linkTo(join(folder, 'a')), true)
  await staged.dispose()
  const other = (await stageFile(folder, A, { random: systemRandom, warn: assert.fail }))!
  assert.equal(await other.linkTo(join(folder, 'a')), false)
  await other.dispose()
  assert.deepEqual(await readdir(folder), ['a'])
})

test('errors of file calls name the object and the reason', () => {
  const shown = (code: string) => {
    const error = Object.assign(new Error(`${code}: some reason, open '/x'`), { code, syscall: 'open' })
    const { kind, message } = folderError('read /a', error) as ObjectStoreError
    return `${kind}: ${message}`
  }
  assert.equal(shown('ENOSPC'), 'full: cannot read /a: the disk is full (ENOSPC)')
  assert.equal(shown('EDQUOT'), 'full: cannot read /a: the quota of the disk is used up (EDQUOT)')
  assert.equal(shown('EACCES'), 'refused: cannot read /a: some reason (EACCES)')
  assert.equal(shown('EROFS'), 'refused: cannot read /a: the file system is read-only (EROFS)')
  assert.equal(shown('EIO'), 'away: cannot read /a: some reason (EIO)')
  assert.equal(shown('ESTALE'), 'away: cannot read /a: some reason (ESTALE)')
  assert.equal(shown('EMFILE'), 'away: cannot read /a: some reason (EMFILE)')
  const own = new TypeError('ours')
  assert.equal(folderError('read /a', own), own)
})
