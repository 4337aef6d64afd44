// Reads and checks the certificate and the key of a port, from the PEM files of the settings. An error is one
// sentence that names the setting. While the broker runs, changed files replace the pair in use. It opens no port:
// each TLS port has its own settings, under the same names, and gets its options from here.
//
// The files are read again and again, because a file watcher does not see a replaced symbolic link, as Kubernetes
// makes it, or a change over a network (docs/decisions/0047). An error is logged only if two reads in a row find it,
// because tools write the certificate and the key one after the other.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'
import { fullKey, type Settings, SettingsError } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The port, as the start of its settings: `svc.server.tls`, `svc.server.cert-file` … */
export type TlsPort = 'server' | 'broker'

/** For health: the certificate that clients see, and the latest failure to replace it. */
export interface CertificateState {
  readonly port: TlsPort
  readonly subject: string
  readonly validFrom: Date
  readonly validTo: Date
  /** Why the current files are not in use; null if they are. */
  readonly failure: string | null
}

export interface ServerCertificate {
  /** Options for tls.createServer and server.setSecureContext: TLS 1.2 and 1.3 with the pair in use. */
  readonly secureOptions: SecureContextOptions
  /** The port's own certificate, without its chain. */
  readonly leaf: X509Certificate
  readonly state: CertificateState
  /** Calls `changed` with the options of each new pair that replaces the one in use. */
  watch(changed: (secureOptions: SecureContextOptions) => void): void
  /**
   * Calls `prepare` with the certificate of each new pair before the pair is in use, and uses it when the promise
   * resolves. `prepare` must not reject.
   */
  beforeUse(prepare: (leaf: X509Certificate) => Promise<void>): void
  close(): void
}

export interface CertificateRooms {
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
}

/** The time between two reads of the files. After two reads a new pair is in use, or its failure is in the log. */
export const LOOK_MS = 5_000

/** The largest file in bytes. No chain of certificates is nearly as long. */
const MOST_BYTES = 1024 * 1024

interface Files {
  readonly cert: Buffer
  readonly key: Buffer
}

interface Pair {
  readonly secureOptions: SecureContextOptions
  readonly leaf: X509Certificate
}

/**
 * Resolves to the certificate of the port; null if the port does not use TLS. Throws SettingsError if the files
 * cannot be used; its message names the wrong setting.
 */
export async function openServerCertificate(
  port: TlsPort,
  { settings, clock, logger }: CertificateRooms,
): Promise<ServerCertificate | null> {
  if (!settings.get(`${port}.tls`)) return null
  const log = logger.named('tls')
  const read = async (): Promise<Files> => ({
    cert: await readPem(settings, `${port}.cert-file`),
    key: await readPem(settings, `${port}.key-file`),
  })
  let files = await read()
  let pair = checkPair(settings, port, files)
  const warnOfTime = () => {
    const { validFromDate, validToDate } = pair.leaf
    const nowMs = clock.now()
    if (nowMs >= validFromDate.getTime() && nowMs < validToDate.getTime()) return
    log.warn('clients refuse the certificate, because it is not valid at this time', {
      port,
      validFrom: pair.leaf.validFrom,
      ...shown(pair.leaf),
    })
  }
  warnOfTime()
  /** The error that the last read found, and whether it was logged. */
  let objection: string | null = null
  let isSaid = false
  const preparing: ((leaf: X509Certificate) => Promise<void>)[] = []
  const changes: ((secureOptions: SecureContextOptions) => void)[] = []
  let timer: Timer | null = null
  let isClosed = false

  async function look(): Promise<void> {
    try {
      const found = await read()
      if (isClosed) return
      const isSame = found.cert.equals(files.cert) && found.key.equals(files.key)
      if (!isSame) {
        const next = checkPair(settings, port, found)
        for (const prepare of preparing) await prepare(next.leaf)
        if (isClosed) return
        pair = next
        files = found
        for (const changed of changes) changed(pair.secureOptions)
        log.info('the certificate was replaced', { port, ...shown(pair.leaf) })
        warnOfTime()
      }
      objection = null
      isSaid = false
    } catch (error) {
      // After any error the broker keeps serving with its old pair.
      complain((error as Error).message)
    }
  }

  function complain(message: string): void {
    if (message !== objection) isSaid = false
    else if (!isSaid) {
      isSaid = true
      log.error(`the broker keeps its certificate, because the new files cannot be used: ${message}`, { port })
    }
    objection = message
  }

  const lookLater = () => {
    timer = clock.timer(LOOK_MS, () => void look().finally(() => isClosed || lookLater()))
  }
  lookLater()
  return {
    get secureOptions() {
      return pair.secureOptions
    },
    get leaf() {
      return pair.leaf
    },
    get state() {
      const { subject, validFromDate: validFrom, validToDate: validTo } = pair.leaf
      return { port, subject, validFrom, validTo, failure: isSaid ? objection : null }
    },
    watch: changed => void changes.push(changed),
    beforeUse: prepare => void preparing.push(prepare),
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

type FileKey = `${TlsPort}.${'cert-file' | 'key-file'}`

/** Returns the setting, the origin of its value and the file, for an error message. */
function of(settings: Settings, key: FileKey): string {
  return `${fullKey(key)} (${settings.origin(key)}): ${settings.get(key)}`
}

async function readPem(settings: Settings, key: FileKey): Promise<Buffer> {
  const path = settings.get(key)!
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new SettingsError(`${of(settings, key)} is not a regular file`)
    if (found.size > MOST_BYTES) throw new SettingsError(`${of(settings, key)} has more than ${MOST_BYTES} bytes`)
    return await readFile(path)
  } catch (error) {
    if (error instanceof SettingsError) throw error
    throw new SettingsError(`${of(settings, key)} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? message
}

/**
 * Returns the checked pair. Throws SettingsError unless the certificate and the key belong together and OpenSSL
 * accepts them.
 */
function checkPair(settings: Settings, port: TlsPort, { cert, key }: Files): Pair {
  const leaf = readCertificate(settings, port, cert)
  const privateKey = readKey(settings, port, key)
  if (!leaf.checkPrivateKey(privateKey)) {
    const other = settings.get(`${port}.cert-file`)
    throw new SettingsError(
      `${of(settings, `${port}.key-file`)} is not the key of the certificate in ${other} (${fullKey(`${port}.cert-file`)})`,
    )
  }
  const passphrase = settings.get(`${port}.key-password`) ?? undefined
  const secureOptions = { cert, key, passphrase, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } as const
  try {
    createSecureContext(secureOptions)
  } catch (error) {
    // The message is OpenSSL's own, such as "ee key too small", without its numbers.
    const { reason, message } = error as Error & { readonly reason?: string }
    throw new SettingsError(`${of(settings, `${port}.cert-file`)} cannot be used: ${reason ?? message}`, {
      cause: error,
    })
  }
  return { secureOptions, leaf }
}

/** Returns the first certificate of the file, which is the port's own. The others are its chain. */
function readCertificate(settings: Settings, port: TlsPort, cert: Buffer): X509Certificate {
  const none = (cause: unknown) =>
    new SettingsError(`${of(settings, `${port}.cert-file`)} holds no PEM certificate`, { cause })
  // X509Certificate reads DER too, and a TLS context does not.
  if (!cert.includes('CERTIFICATE-----')) throw none(null)
  try {
    return new X509Certificate(cert)
  } catch (error) {
    throw none(error)
  }
}

function readKey(settings: Settings, port: TlsPort, key: Buffer): KeyObject {
  const passphrase = settings.get(`${port}.key-password`)
  const isEncrypted = /ENCRYPTED/.test(key.toString('latin1'))
  const file = of(settings, `${port}.key-file`)
  const password = fullKey(`${port}.key-password`)
  if (isEncrypted && passphrase === null) throw new SettingsError(`${file} is encrypted, and ${password} is not set`)
  try {
    return createPrivateKey(passphrase === null ? key : { key, passphrase })
  } catch (error) {
    const message = isEncrypted ? `${file} does not open with ${password}` : `${file} holds no PEM private key`
    throw new SettingsError(message, { cause: error })
  }
}

function shown({ subject, validTo }: X509Certificate) {
  return { subject: subject.replaceAll('\n', ', '), validTo }
}
