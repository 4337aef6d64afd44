// Creates certificates and their keys for one test, with OpenSSL.

import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { hasProgram, outputOf } from './programs.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const noOpenssl: string | false = hasProgram('openssl') ? false : 'SKIPPED openssl: apt-get install openssl'

export interface Certificate {
  readonly keyFile: string
  readonly certificateFile: string
}

/** An authority that signs certificates. */
export interface Authority extends Certificate {
  issue(options?: Issued): Certificate
}

export interface Issued {
  /** In the form of `openssl req -subj`. */
  readonly subject?: string
  /** The extended key usage, such as `serverAuth`. */
  readonly usage?: string
  /** The days until it expires; negative for one that has expired. */
  readonly days?: number
}

/** The names of a certificate for this machine. */
const NAMES = 'IP:127.0.0.1,DNS:localhost'
const KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
}
export type KeyKind = keyof typeof KEYS

/**
 * Creates a self-signed certificate, by default for 127.0.0.1 and localhost, in a folder that is removed after the
 * test.
 */
export async function makeCertificate(cleanUp: CleanUp, names = NAMES, kind: KeyKind = 'ec'): Promise<Certificate> {
  return selfSigned(await makeFolder(cleanUp), '/CN=localhost', ['-addext', `subjectAltName=${names}`], kind)
}

/** Creates an authority, in a folder that is removed after the test. */
export async function makeAuthority(cleanUp: CleanUp): Promise<Authority> {
  const folder = await makeFolder(cleanUp)
  const authority = selfSigned(folder, '/CN=authority', [])
  let issued = 0
  return {
    ...authority,
    issue({ subject = '/CN=alice', usage = 'clientAuth', days = 2 } = {}) {
      const to = (name: string) => join(folder, `${issued}-${name}.pem`)
      issued++
      const [keyFile, requestFile, certificateFile] = [to('key'), to('request'), to('certificate')]
      const wanted = ['-utf8', '-subj', subject, '-addext', `extendedKeyUsage=${usage}`]
      const names = ['-addext', `subjectAltName=${NAMES}`]
      outputOf('openssl', ['req', ...KEYS.ec, '-keyout', keyFile, '-out', requestFile, ...wanted, ...names])
      const by = ['-CA', authority.certificateFile, '-CAkey', authority.keyFile, '-copy_extensions', 'copyall']
      const lasting = ['-days', String(days)]
      outputOf('openssl', ['x509', '-req', '-in', requestFile, '-out', certificateFile, ...by, ...lasting])
      return { keyFile, certificateFile }
    },
  }
}

async function makeFolder(cleanUp: CleanUp): Promise<string> {
  const folder = await temporaryFolder(cleanUp, 'ketch-certificate-')
  return folder
}

function selfSigned(folder: string, subject: string, more: readonly string[], kind: KeyKind = 'ec'): Certificate {
  const keyFile = join(folder, 'key.pem')
  const certificateFile = join(folder, 'certificate.pem')
  const out = ['-keyout', keyFile, '-out', certificateFile]
  outputOf('openssl', ['req', '-x509', ...KEYS[kind], ...out, '-days', '2', '-subj', subject, ...more])
  return { keyFile, certificateFile }
}
