// Reads and checks the certificate and the key of a port, and the authorities of its clients, from the PEM files of the
// settings. An error is one sentence that names the setting. While the broker runs, changed files replace the ones in
// use. It opens no port: each TLS port has its own settings, under the same names, and gets its options from here.
//
// The files are read again and again, because a file watcher does not see a replaced symbolic link, as Kubernetes
// makes it, or a change over a network (docs/decisions/0047). An error is logged only if two reads in a row find it,
// because tools write the certificate and the key one after the other.

import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'
import { hasTlsListener, kafkaEndpoints, usesTls } from '../settings/endpoints.ts'
import { fullKey, type Settings, SettingsError } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** The port, as the start of its settings: `svc.server.cert-file`, `svc.broker.cert-file` … */
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
  /**
   * Options for tls.createServer and server.setSecureContext: TLS 1.2 and 1.3 with the pair in use, and the
   * authorities of clients if the port demands client certificates.
   */
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
  readonly metrics: Pick<Metrics, 'sample'>
}

/** The time between two reads of the files. After two reads a new pair is in use, or its failure is in the log. */
export const LOOK_MS = 5_000

const DAY_MS = 24 * 3_600_000

/** The extended key usages serverAuth and anyExtendedKeyUsage (RFC 5280, section 4.2.1.12). */
const SERVER_PURPOSES: ReadonlySet<string> = new Set(['1.3.6.1.5.5.7.3.1', '2.5.29.37.0'])

/** The bit of a file's mode that lets every user read it. */
const READ_BY_OTHERS = 0o004

/** The largest file in bytes. No chain of certificates is nearly as long. */
const MOST_BYTES = 1024 * 1024

/**
 * The suites in the order of preference. Those of TLS 1.2 have forward secrecy and authenticated encryption (RFC 9325,
 * 4.2). AES-128 comes first, because it costs the least on processors with AES instructions.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_COMPRESSION, SSL_OP_NO_TICKET } = constants

interface Files {
  readonly cert: Buffer
  readonly key: Buffer
  /** The certificates of the authorities of clients; null if the port demands no client certificates. */
  readonly trust: Buffer | null
  /** True if every user of the machine can read the key. */
  readonly isKeyOpen: boolean
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
  { settings, clock, logger, metrics }: CertificateRooms,
): Promise<ServerCertificate | null> {
  if (!isInUse(settings, port)) return null
  const log = logger.named('tls')
  const read = () => readFiles(settings, port)
  let files = await read()
  let pair = checkPair(settings, port, files)
  const warnOfTime = () => {
    const { validFromDate, validToDate } = pair.leaf
    const nowMs = clock.now()
    if (nowMs >= validFromDate.getTime() && nowMs < validToDate.getTime()) return
    const days = Math.floor(Math.abs(nowMs - validToDate.getTime()) / DAY_MS)
    log.warn('clients refuse the certificate, because it is not valid at this time', {
      port,
      validFrom: pair.leaf.validFrom,
      ...shown(pair.leaf),
      ...(nowMs >= validToDate.getTime() && { daysSinceItExpired: days }),
    })
  }
  const warnOfNames = () => {
    for (const { name, advertisedHost, key } of port === 'broker' ? unnamedHosts(settings, pair.leaf) : [])
      log.warn('clients that check host names refuse the certificate, because it is not for the advertised host', {
        listener: name,
        advertisedHost,
        setting: key('advertised-host'),
        names: pair.leaf.subjectAltName ?? pair.leaf.subject,
      })
  }
  const warn = () => {
    warnOfTime()
    warnOfNames()
    if (!isForServers(pair.leaf))
      log.warn('clients refuse the certificate, because it is not for servers (extended key usage)', {
        port,
        ...shown(pair.leaf),
      })
    if (files.isKeyOpen)
      log.warn('every user of this machine can read the private key: take away the right of others (chmod o-r)', {
        port,
        keyFile: settings.get(`${port}.key-file`),
      })
  }
  warn()
  metrics.sample('svc.tls.certificate_expiry_seconds', { port }, () => {
    return (pair.leaf.validToDate.getTime() - clock.now()) / 1000
  })
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
      if (!isSame(found, files)) {
        const before = files
        const next = checkPair(settings, port, found)
        for (const prepare of preparing) await prepare(next.leaf)
        if (isClosed) return
        pair = next
        files = found
        for (const changed of changes) changed(pair.secureOptions)
        const isPairSame = found.cert.equals(before.cert) && found.key.equals(before.key)
        if (isPairSame) log.info('the authorities of client certificates were replaced', { port })
        else log.info('the certificate was replaced', { port, ...shown(pair.leaf) })
        warn()
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

/** Returns whether a client of this port can speak TLS. */
function isInUse(settings: Settings, port: TlsPort): boolean {
  if (port === 'server') return settings.get('server.tls')
  return settings.get('broker.enabled') && hasTlsListener(settings)
}

/** Returns whether clients of the port need a certificate (mTLS). */
function demandsClients(settings: Settings, port: TlsPort): boolean {
  return port === 'broker' && settings.get('broker.client-auth-required')
}

function isSame(one: Files, other: Files): boolean {
  const isTrustSame = one.trust === null || other.trust === null || one.trust.equals(other.trust)
  return one.cert.equals(other.cert) && one.key.equals(other.key) && isTrustSame
}

type FileKey = `${TlsPort}.${'cert-file' | 'key-file'}` | 'broker.trust-cert-file'

async function readFiles(settings: Settings, port: TlsPort): Promise<Files> {
  const { pem: cert } = await readPem(settings, `${port}.cert-file`)
  const { pem: key, mode } = await readPem(settings, `${port}.key-file`)
  const trust = demandsClients(settings, port) ? (await readPem(settings, 'broker.trust-cert-file')).pem : null
  return { cert, key, trust, isKeyOpen: (mode & READ_BY_OTHERS) !== 0 }
}

/** Returns the setting, the origin of its value and the file, for an error message. */
function of(settings: Settings, key: FileKey): string {
  return `${fullKey(key)} (${settings.origin(key)}): ${settings.get(key)}`
}

async function readPem(
  settings: Settings,
  key: FileKey,
): Promise<{ readonly pem: Buffer /** The rights, as of stat. */; readonly mode: number }> {
  const path = settings.get(key)!
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new SettingsError(`${of(settings, key)} is not a regular file`)
    if (found.size > MOST_BYTES) throw new SettingsError(`${of(settings, key)} has more than ${MOST_BYTES} bytes`)
    return { pem: await readFile(path), mode: found.mode }
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
function checkPair(settings: Settings, port: TlsPort, { cert, key, trust }: Files): Pair {
  const leaf = readCertificate(settings, port, cert)
  const privateKey = readKey(settings, port, key)
  if (!leaf.checkPrivateKey(privateKey)) {
    const other = settings.get(`${port}.cert-file`)
    throw new SettingsError(
      `${of(settings, `${port}.key-file`)} is not the key of the certificate in ${other} (${fullKey(`${port}.cert-file`)})`,
    )
  }
  // An encrypted key is kept decrypted: Node would keep the passphrase as a string, and heap snapshots contain strings.
  const isEncrypted = settings.get(`${port}.key-password`) !== null
  if (trust !== null) checkAuthorities(settings, trust)
  const secureOptions = {
    cert,
    key: isEncrypted ? Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })) : key,
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
    ciphers: CIPHERS,
    honorCipherOrder: true,
    // A session that is resumed skips the check of the client's certificate, so mTLS has no tickets to resume one.
    secureOptions: SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | (trust === null ? 0 : SSL_OP_NO_TICKET),
    ...(trust !== null && { ca: trust }),
  } as const
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

/** Returns whether the certificate may identify a server: it names that purpose, any purpose, or none (RFC 5280). */
function isForServers({ keyUsage }: X509Certificate): boolean {
  return (keyUsage as readonly string[] | undefined)?.some(each => SERVER_PURPOSES.has(each)) ?? true
}

/** Returns the first certificate of the file, which is the port's own. The others are its chain. */
function readCertificate(settings: Settings, port: TlsPort, cert: Buffer): X509Certificate {
  const none = (cause: unknown) =>
    new SettingsError(
      `${of(settings, `${port}.cert-file`)} holds no PEM certificate${insteadOf(cert, 'CERTIFICATE')}`,
      { cause },
    )
  // X509Certificate reads DER too, and a TLS context does not.
  if (!cert.includes('CERTIFICATE-----')) throw none(null)
  try {
    return new X509Certificate(cert)
  } catch (error) {
    throw none(error)
  }
}

/** Throws SettingsError unless every certificate of the trust file can be read, and there is one. */
function checkAuthorities(settings: Settings, trust: Buffer): void {
  const file = of(settings, 'broker.trust-cert-file')
  const found = trust.toString('latin1').match(PEM_CERTIFICATE) ?? []
  if (found.length === 0) throw new SettingsError(`${file} holds no PEM certificate${insteadOf(trust, 'CERTIFICATE')}`)
  for (const [at, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch (cause) {
      const message = `${file} cannot be used: certificate ${at + 1} of ${found.length} cannot be read`
      throw new SettingsError(message, { cause })
    }
  }
}

/** Matches each certificate of a file. One that has no end line is matched up to the end of the file. */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g

function readKey(settings: Settings, port: TlsPort, key: Buffer): KeyObject {
  const passphrase = settings.get(`${port}.key-password`)
  const isEncrypted = /ENCRYPTED/.test(key.toString('latin1'))
  const file = of(settings, `${port}.key-file`)
  const password = fullKey(`${port}.key-password`)
  if (isEncrypted && passphrase === null) throw new SettingsError(`${file} is encrypted, and ${password} is not set`)
  try {
    return createPrivateKey(passphrase === null ? key : { key, passphrase })
  } catch (error) {
    const message = isEncrypted
      ? `${file} does not open with ${password}`
      : `${file} holds no PEM private key${insteadOf(key, 'PRIVATE KEY')}`
    throw new SettingsError(message, { cause: error })
  }
}

/** Returns what a file holds in place of the wanted PEM, as the end of a sentence; empty if that is not known. */
function insteadOf(content: Buffer, wanted: 'CERTIFICATE' | 'PRIVATE KEY'): string {
  if (content.length === 0) return ', because it is empty'
  if (content.includes(`${wanted}-----`)) return ' that can be read'
  if (content.includes('PRIVATE KEY-----')) return ', but a private key'
  if (content.includes('CERTIFICATE-----')) return ', but a certificate'
  return content.includes(0) ? ', but binary data such as DER, PKCS#12 or JKS; openssl can convert it' : ''
}

/** Returns the Kafka listeners with TLS whose advertised host is not in the certificate. */
function unnamedHosts(settings: Settings, leaf: X509Certificate) {
  return kafkaEndpoints(settings).filter(({ security, advertisedHost }) => {
    const named = isIP(advertisedHost) === 0 ? leaf.checkHost(advertisedHost) : leaf.checkIP(advertisedHost)
    return usesTls(security) && named === undefined
  })
}

function shown({ subject, validTo }: X509Certificate) {
  return { subject: subject.replaceAll('\n', ', '), validTo }
}
