// A certificate authority of one test, with OpenSSL: it signs certificates for servers and for clients.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import type { Certificate } from './certificate.ts'
import { outputOf } from './programs.ts'

export interface Authority {
  /** The certificate of the authority, for those who trust it. */
  readonly caFile: string
  /** Signs a certificate for a server of this machine: localhost and 127.0.0.1. */
  server(): Certificate
  /** Signs a certificate with this subject, such as `/O=Ketch/CN=alice`, for a client only. */
  client(subject: string): Certificate
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

/** Creates an authority, in a folder that is removed after the test. */
export async function makeAuthority(cleanUp: CleanUp, name = 'Test Authority'): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-authority-'))
  cleanUp.after(() => rm(folder, { recursive: true, force: true }))
  let issued = 0
  const create = (args: readonly string[]): Certificate => {
    const number = issued++
    const [keyFile, certificateFile] = [join(folder, `${number}-key.pem`), join(folder, `${number}.pem`)]
    outputOf('openssl', ['req', '-x509', ...KEY, '-keyout', keyFile, '-out', certificateFile, ...args])
    return { keyFile, certificateFile }
  }
  const own = create(['-subj', `/CN=${name}`, '-addext', 'keyUsage=critical,keyCertSign,cRLSign'])
  const sign = (subject: string, ...extensions: readonly string[]) =>
    create([
      ...['-CA', own.certificateFile, '-CAkey', own.keyFile, '-subj', subject],
      ...['basicConstraints=critical,CA:FALSE', ...extensions].flatMap(extension => ['-addext', extension]),
    ])
  return {
    caFile: own.certificateFile,
    server: () => sign('/CN=localhost', 'extendedKeyUsage=serverAuth', 'subjectAltName=IP:127.0.0.1,DNS:localhost'),
    client: subject => sign(subject, 'extendedKeyUsage=clientAuth'),
  }
}
