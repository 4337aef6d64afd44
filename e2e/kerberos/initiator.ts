// Drives a real client of GSSAPI (Initiator.java): Java's own implementation, or MIT Kerberos behind Java's interface.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import type { Kdc } from '../../testing/kdc.ts'
import { hasProgram } from '../../testing/programs.ts'
import { JAVA_FLAGS } from '../java/jars.ts'

const source = fileURLToPath(new URL('Initiator.java', import.meta.url))

export const noJava: string | false = hasProgram('javac')
  ? false
  : 'SKIPPED e2e/kerberos: apt-get install default-jdk-headless'

export interface Answer {
  readonly token: Buffer
  readonly isComplete: boolean
}

export interface Initiator {
  /** Sends a command of Initiator.java. Rejects with the reason if the client fails. */
  ask(...words: readonly (string | Uint8Array)[]): Promise<Answer>
}

/** Starts a client. With `cache`, a credential cache, MIT Kerberos makes the tokens. */
export function startInitiator(cleanUp: CleanUp, kdc: Kdc, cache?: string): Initiator {
  const mit = ['-Dsun.security.jgss.native=true', '-Djavax.security.auth.useSubjectCredsOnly=false']
  const flags = [`-Djava.security.krb5.conf=${kdc.confFile}`, ...(cache === undefined ? [] : mit)]
  const env = { ...process.env, ...kdc.environment, ...(cache === undefined ? {} : { KRB5CCNAME: cache }) }
  const child = spawn('java', [...JAVA_FLAGS, ...flags, source], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  endWithUs(child)
  cleanUp.after(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'close')
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async ask(...words) {
      const text = words.map(word => (typeof word === 'string' ? word : Buffer.from(word).toString('base64')))
      child.stdin.write(`${text.join(' ')}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the client has ended')
      const [kind, token = '-', complete] = String(value).split(' ')
      if (kind === 'failed') throw new Error(String(value))
      return { token: token === '-' ? Buffer.alloc(0) : Buffer.from(token, 'base64'), isComplete: complete === 'true' }
    },
  }
}
