import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../testing/temporary-folder.ts'
import { Krb5ConfError, readKrb5Conf } from './krb5-conf.ts'

/** Reads krb5.conf of a folder with these files; `$FOLDER` in a text is the folder. */
async function read(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(t, 'ketch-krb5-conf-')
  await mkdir(join(folder, 'krb5.conf.d'))
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text.replaceAll('$FOLDER', folder))
  return await readKrb5Conf(join(folder, 'krb5.conf'))
}

const permittedBy = async (t: TestContext, list: string) =>
  [...(await read(t, { 'krb5.conf': `[libdefaults]\npermitted_enctypes = ${list}\n` }))!.permitted!].sort()

test('without a krb5.conf nothing is restricted', async t => {
  assert.equal(await read(t, {}), null)
})

test('the default realm is read between comments, other sections and braces', async t => {
  const text = `# a comment
; another one
module /usr/lib/x.so:init
[libdefaults]
\tdefault_realm = "KETCH.TEST"
\tdefault_realm = SECOND.TEST
\tv4_name_convert = {
\t\thost =
\t\t{
\t\t\tdefault_realm = INNER.TEST
\t\t}
\t}
[realms]*
  KETCH.TEST = {
    kdc = 127.0.0.1
  }*
[domain_realm]
  default_realm = WRONG.TEST
`
  const conf = await read(t, { 'krb5.conf': text.replaceAll('\n', '\r\n') })
  assert.deepEqual(conf, { defaultRealm: 'KETCH.TEST', permitted: null })
})

test('permitted enctypes have names, aliases and families, and other ones count not', async t => {
  assert.deepEqual(await permittedBy(t, 'aes256-cts-hmac-sha1-96, AES128-SHA2 arcfour-hmac'), [18, 19])
  assert.deepEqual(await permittedBy(t, 'aes'), [17, 18, 19, 20])
  assert.deepEqual(await permittedBy(t, 'DEFAULT -aes128-cts +camellia'), [18, 19, 20])
  assert.deepEqual(await permittedBy(t, 'rc4 des3'), [])
})

test('included files and folders count at their place', async t => {
  const conf = await read(t, {
    'krb5.conf': 'includedir $FOLDER/krb5.conf.d\ninclude $FOLDER/more\n[libdefaults]\ndefault_realm = LAST.TEST\n',
    'krb5.conf.d/crypto-policies': '[libdefaults]\npermitted_enctypes = aes256-cts\n',
    'krb5.conf.d/realm.conf': '[libdefaults]\ndefault_realm = FIRST.TEST\n',
    'krb5.conf.d/ignored.rpmsave': 'broken',
    'krb5.conf.d/.hidden.conf': 'broken',
    more: '[libdefaults]\ndefault_realm = MORE.TEST\n',
  })
  assert.deepEqual(conf, { defaultRealm: 'FIRST.TEST', permitted: new Set([18]) })
})

test('a file that cannot be parsed is named with its line', async t => {
  const broken: readonly (readonly [string, RegExp])[] = [
    ['[libdefaults\n', /krb5.conf, line 1: a section has no ']'$/],
    ['[libdefaults]\n\nrealm\n', /line 3: a line has no 'name = value'$/],
    ['[realms]\n}\n', /line 2: '}' closes nothing$/],
    ['[realms]\nA = {\n', /krb5.conf ends before a '{' is closed$/],
    ['include /no/such/file\n', /line 1: the included file \/no\/such\/file does not exist$/],
    ['includedir /no/such/folder\n', /line 1: the included folder cannot be read: ENOENT/],
    ['include $FOLDER/krb5.conf\n', /is one of more than 100 included files$/],
    ['include /etc\n', /\/etc cannot be read: EISDIR/],
  ]
  for (const [text, message] of broken)
    await assert.rejects(
      read(t, { 'krb5.conf': text }),
      error => error instanceof Krb5ConfError && message.test(error.message),
    )
})
