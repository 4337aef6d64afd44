import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { openBuild } from './build.ts'

async function folder(t: TestContext): Promise<string> {
  const made = await temporaryFolder(t, 'ketch-build-')
  await writeFile(join(made, 'package.json'), '{"name":"ketch","version":"1.2.3"}')
  return made
}

function commit(path: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path, '-c', 'user.name=n', '-c', 'user.email=e', ...args], {
      env: { ...process.env, GIT_COMMITTER_DATE: '2026-11-20T10:00:00+02:00' },
      stdio: 'ignore',
    })
  git('init')
  git('add', '.')
  git('commit', '--message=one')
}

test('the time of a build is the time of its commit, in UTC', async t => {
  const path = await folder(t)
  commit(path)
  assert.deepEqual(await openBuild(path)(), {
    group: 'ketch',
    artifact: 'ketch',
    version: '1.2.3',
    time: '2026-11-20T08:00:00.000Z',
  })
})

test('the time in build.json takes precedence over the time of the commit', async t => {
  const path = await folder(t)
  commit(path)
  await writeFile(join(path, 'build.json'), '{"time":"2026-01-02T03:04:05Z"}')
  assert.equal((await openBuild(path)()).time, '2026-01-02T03:04:05.000Z')
})

test('an unknown build time is null, and never the time of a repository that contains the folder', async t => {
  const path = await folder(t)
  assert.equal((await openBuild(path)()).time, null)
  const inner = join(path, 'node_modules', 'ketch')
  await mkdir(inner, { recursive: true })
  await writeFile(join(inner, 'package.json'), '{"name":"ketch","version":"1.2.3"}')
  commit(path)
  assert.equal((await openBuild(inner)()).time, null)
})
