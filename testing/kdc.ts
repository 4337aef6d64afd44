// Starts a real KDC (MIT Kerberos) on a free port of 127.0.0.1, with a realm of its own in a folder that is removed
// with the test. Principals and keytabs are made with kadmin.local. Without the programs the tests are skipped with a
// reason.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { endWithUs } from './end-with-us.ts'
import { freePort } from './free-port.ts'
import { hasProgram } from './programs.ts'

/** Debian keeps the servers outside of the PATH of most users. */
const ENVIRONMENT = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }
const PROGRAMS = ['krb5kdc', 'kdb5_util', 'kadmin.local', 'kinit'] as const

/** Why no KDC can start here, for a test's `skip`; false if it can. */
export const noKdc: string | false = PROGRAMS.every(name => hasProgram(name, ENVIRONMENT.PATH))
  ? false
  : 'SKIPPED kerberos: apt-get install krb5-kdc krb5-admin-server krb5-user'

export interface Kdc {
  readonly realm: string
  /** The krb5.conf of clients. */
  readonly confFile: string
  /** Variables for programs of MIT Kerberos that use this realm. */
  readonly environment: Readonly<Record<string, string>>
  /** Runs one line of kadmin, such as `addprinc -randkey alice`, and returns its output. */
  admin(line: string): string
  /** Creates a principal with random keys and returns a new keytab with them. `flags` are of kadmin's addprinc. */
  addPrincipal(name: string, flags?: string): string
  /** Gives a principal new keys, with the next version, and adds them to the keytab. */
  changeKeys(name: string, keytab: string, flags?: string): void
  /** Gets a ticket with the keytab into a new credential cache and returns the cache's name. `flags` are of kinit. */
  login(name: string, keytab: string, flags?: readonly string[]): string
}

/** Starts the KDC and resolves when it listens. */
export async function startKdc(cleanUp: CleanUp, realm = 'KETCH.TEST'): Promise<Kdc> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-kdc-'))
  const port = await freePort()
  const confFile = join(folder, 'krb5.conf')
  const kdcFile = join(folder, 'kdc.conf')
  await writeFile(confFile, clientConf(realm, port))
  await writeFile(kdcFile, serverConf(realm, port, folder))
  const environment = { KRB5_CONFIG: confFile, KRB5_KDC_PROFILE: kdcFile }
  const env = { ...ENVIRONMENT, ...environment }
  const run = (program: string, args: readonly string[]) => {
    const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', env, timeout: 60_000 })
    // kadmin.local ends with status 0 after most failures.
    const complaints = stderr.replace(/^No policy specified.*\n/gm, '').trim()
    if (status === 0 && complaints === '') return stdout
    throw new Error(`${program} ${args.join(' ')} ended with ${status ?? error?.message}\n${complaints}\n${stdout}`)
  }
  run('kdb5_util', ['create', '-s', '-P', 'master', '-r', realm])
  const kdc = spawn('krb5kdc', ['-n'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  endWithUs(kdc)
  cleanUp.after(async () => {
    if (kdc.exitCode === null && kdc.kill('SIGTERM')) await once(kdc, 'close')
    await rm(folder, { recursive: true, force: true })
  })
  await listening(kdc)
  let files = 0
  const newFile = (kind: string) => join(folder, `${++files}.${kind}`)
  const admin = (line: string) => run('kadmin.local', ['-r', realm, '-q', line])
  const addToKeytab = (name: string, keytab: string) => admin(`ktadd -q -norandkey -k ${keytab} ${name}`)
  return {
    realm,
    confFile,
    environment,
    admin,
    addPrincipal(name, flags = '') {
      const keytab = newFile('keytab')
      admin(`addprinc -randkey ${flags} ${name}`)
      addToKeytab(name, keytab)
      return keytab
    },
    changeKeys(name, keytab, flags = '') {
      admin(`cpw -randkey ${flags} ${name}`)
      addToKeytab(name, keytab)
    },
    login(name, keytab, flags = []) {
      const cache = `FILE:${newFile('cache')}`
      run('kinit', ['-c', cache, '-k', '-t', keytab, ...flags, name])
      return cache
    },
  }
}

/** Resolves when the KDC says that it has begun. Throws its output if it ends before. */
async function listening(kdc: ChildProcess): Promise<void> {
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const take = (chunk: Buffer) => {
      output += chunk
      if (/commencing operation|starting/i.test(output)) resolve()
    }
    kdc.stdout!.on('data', take)
    kdc.stderr!.on('data', take)
    kdc.on('error', reject)
    kdc.on('close', status => reject(new Error(`krb5kdc ended with ${status}; it printed:\n${output}`)))
  })
}

const clientConf = (realm: string, port: number) => `[libdefaults]
  default_realm = ${realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  ${realm} = {
    kdc = 127.0.0.1:${port}
  }
`

const serverConf = (realm: string, port: number, folder: string) => `[kdcdefaults]
  kdc_listen = 127.0.0.1:${port}
  kdc_tcp_listen = 127.0.0.1:${port}
[realms]
  ${realm} = {
    database_name = ${folder}/principal
    key_stash_file = ${folder}/stash
    acl_file = ${folder}/acl
    max_life = 1d
    max_renewable_life = 7d
    supported_enctypes = aes256-sha2:normal aes128-sha2:normal aes256-cts:normal aes128-cts:normal
  }
[logging]
  kdc = STDERR
`
