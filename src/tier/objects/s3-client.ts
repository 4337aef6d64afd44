// The only file that loads the client of S3, and loads it when a bucket is opened: it takes a tenth of a second of the
// processor and 40 MB, which a broker that keeps its tables in a folder does not need.

import type { GetObjectCommandOutput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'

export type { GetObjectCommandOutput }

/** By default, region and keys come from where the AWS tools find them: environment, files of the user, the machine. */
export interface S3Options {
  readonly region?: string
  /** The URL of a store other than AWS's own. */
  readonly endpoint?: string
  /** Puts the bucket into the path of a URL instead of its host name. */
  readonly pathStyle?: boolean
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly sessionToken?: string
  /** The longest wait for a connection; 5 s by default. */
  readonly connectTimeoutMs?: number
  /** The longest wait without a byte in either direction; 20 s by default. */
  readonly idleTimeoutMs?: number
}

export interface S3Clients {
  /** Sends a request up to ATTEMPTS times. */
  readonly ordinary: S3Client
  /** Sends a request once, because a second attempt would meet the object that a first one has created. */
  readonly once: S3Client
  readonly sdk: typeof import('@aws-sdk/client-s3')
}

export const ATTEMPTS = 3
const CONNECT_TIMEOUT_MS = 5_000
const IDLE_TIMEOUT_MS = 20_000
/** AWS's own region for clients that name none. Stores with an endpoint of their own mostly ignore it. */
const DEFAULT_REGION = 'us-east-1'

export async function loadS3(options: S3Options): Promise<S3Clients> {
  const sdk = await import('@aws-sdk/client-s3')
  const { endpoint, region, pathStyle, accessKeyId, secretAccessKey, sessionToken } = options
  const config: S3ClientConfig = {
    retryMode: 'standard',
    maxAttempts: ATTEMPTS,
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    // It would open a new connection for each part of an upload.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      socketTimeout: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    },
    ...(endpoint === undefined ? {} : { endpoint, region: DEFAULT_REGION }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { forcePathStyle: pathStyle }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
  }
  const ordinary = new sdk.S3Client(config)
  // Both use the same connections, and renew keys that expire together.
  const { requestHandler, credentials } = ordinary.config
  const once = new sdk.S3Client({ ...config, maxAttempts: 1, requestHandler, credentials })
  return { ordinary, once, sdk }
}
