import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundledPackages, type LockedPackage, objectionsTo, objectionsToCount } from './packages.ts'

/** Returns the objections to a package that is correct except for the given fields. */
function objections(but: LockedPackage, allowScripts: Record<string, boolean> = {}): string {
  const good = { license: 'MIT', integrity: 'sha512-AAAA' }
  return objectionsTo(
    { '': {}, 'node_modules/a': good, 'node_modules/a/node_modules/@b/c': { ...good, ...but } },
    allowScripts,
  ).join()
}

test('a package that a broker runs with has a licence that permits redistribution', () => {
  for (const license of ['MIT', '(MIT OR GPL-3.0-only)', 'Apache-2.0 AND BSD-3-Clause'])
    assert.equal(objections({ license }), '', license)
  for (const license of [
    undefined,
    '',
    'GPL-3.0-only',
    'MIT AND SSPL-1.0',
    'UNLICENSED',
    'SEE LICENSE IN LICENSE',
    'mit',
  ])
    assert.match(
      objections({ license } as LockedPackage),
      /^node_modules\/a\/node_modules\/@b\/c: its licence is/,
      license,
    )
  assert.equal(objections({ license: 'GPL-3.0-only', dev: true }), '', 'packages for developers alone are not shipped')
})

test('a package comes from the registry, with its hash, and needs no install script', () => {
  assert.equal(objections({ resolved: 'https://registry.npmjs.org/@b/c/-/c-1.0.0.tgz' }), '')
  assert.match(objections({ resolved: 'git+ssh://git@github.com/b/c.git#0123' }), /it comes from git\+ssh/)
  assert.match(objections({ integrity: 'sha1-AAAA' }), /it has no SHA-512/)
  assert.equal(objections({ integrity: '', inBundle: true }), '', 'the hash of the package around it covers it')
  assert.match(objections({ hasInstallScript: true, dev: true }, { c: false }), /it has an install script/)
  assert.match(objections({ hasInstallScript: true }, { '@b/c': true }), /it has an install script/)
  assert.equal(objections({ hasInstallScript: true }, { '@b/c': false }), '')
})

test('a browser gets the packages that the console asks for, with theirs, and not those that build it', () => {
  const bundled = bundledPackages({
    '': { dependencies: { react: '1', vite: '1', '@tailwindcss/vite': '1' } },
    'node_modules/react': { dependencies: { scheduler: '1', react: '1' } },
    'node_modules/scheduler': {},
    'node_modules/vite': { dependencies: { rolldown: '1' } },
    'node_modules/@tailwindcss/vite': {},
    'node_modules/rolldown': {},
  })
  assert.deepEqual([...bundled].sort(), ['node_modules/react', 'node_modules/scheduler'])
})

test('a broker depends on fewer than 24 packages', () => {
  const asked = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, '1.0.0']))
  assert.equal(objectionsToCount(asked(23)).join(), '')
  assert.match(objectionsToCount(asked(24)).join(), /24 packages; fewer than 24/)
})
