// Creates a certificate and its key for one test, with OpenSSL.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { hasProgram, outputOf } from './programs.ts'

export const noOpenssl: string | false = hasProgram('openssl') ? false : 'SKIPPED openssl: apt-get install openssl'

export interface Certificate {
  readonly keyFile: string
  readonly certificateFile: string
}

/**
 * Creates a self-signed certificate, by default for 127.0.0.1 and localhost, in a folder that is removed after the
 * test.
 */
export async function makeCertificate(cleanUp: CleanUp, names = 'IP:127.0.0.1,DNS:localhost'): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-certificate-'))
  cleanUp.after(() => rm(folder, { recursive: true, force: true }))
  const keyFile = join(folder, 'key.pem')
  const certificateFile = join(folder, 'certificate.pem')
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const out = ['-keyout', keyFile, '-out', certificateFile]
  outputOf('openssl', [
    'req',
    '-x509',
    ...kind,
    ...out,
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    `subjectAltName=${names}`,
  ])
  return { keyFile, certificateFile }
}
