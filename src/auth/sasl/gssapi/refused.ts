// Says why the broker does not accept a client's Kerberos token. Every file of this folder throws it; the exchange in
// gssapi.ts catches it in one place. It is not an error of the broker, and it holds no secret.

import { cut } from '../../../base/cut.ts'
import { printable } from '../../../base/printable.ts'

export class Refused extends Error {
  override readonly name = 'Refused'
  /** The client's name, once the KDC has vouched for it; null before. */
  readonly claimed: string | null

  /** The message is the reason for the log. */
  constructor(why: string, claimed: string | null = null) {
    super(why)
    this.claimed = claimed
  }
}

/** Returns a text of the client for a reason: printable, short, and in quotation marks. */
export function quoted(text: string): string {
  return `'${printable(cut(text))}'`
}
