import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Authority, makeAuthority, noOpenssl } from '../../testing/certificate.ts'
import { hasProgram, outputOf } from '../../testing/programs.ts'
import { distinguishedName } from './distinguished-name.ts'

const noJava: string | false = hasProgram('java') ? false : 'SKIPPED java: apt-get install openjdk-17-jdk-headless'

interface Case {
  /** In the form of `openssl req -subj`. */
  readonly subject: string
  readonly name: string
  /** Bytes of the certificate to replace, for subjects that OpenSSL does not write. */
  readonly replaced?: readonly [from: string, to: string]
  /** Java's name, if it differs; null if it gives none. */
  readonly java?: string | null
}

const CASES: readonly Case[] = [
  { subject: '/CN=alice', name: 'CN=alice' },
  // Java refuses a certificate without a subject.
  { subject: '/', name: '', java: null },
  {
    subject: '/DC=com/DC=example/C=CH/ST=Bern/L=Thun/street=Weg 1/O=Example/OU=orders/UID=a7/CN=alice',
    name: 'CN=alice,UID=a7,OU=orders,O=Example,STREET=Weg 1,L=Thun,ST=Bern,C=CH,DC=example,DC=com',
  },
  { subject: '/O=Example+OU=orders/CN=alice+UID=a7', name: 'CN=alice+UID=a7,OU=orders+O=Example' },
  { subject: '/CN=a,b\\+c"d\\\\e<f>g;h=i#j', name: 'CN=a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i\\#j' },
  { subject: '/CN=  a  b ', name: 'CN=\\ \\ a  b\\ ' },
  { subject: '/CN=  ', name: 'CN=\\ \\ ' },
  { subject: '/CN=Zoë/O=株式会社', name: 'O=株式会社,CN=Zoë' },
  { subject: '/CN=a/serialNumber=12', name: '2.5.4.5=#13023132,CN=a' },
  { subject: '/emailAddress=a@b.c/CN=a', name: 'CN=a,1.2.840.113549.1.9.1=#16056140622e63' },
  { subject: '/CN=a/serialNumber=12', replaced: ['0603550405', '0603550463'], name: '2.5.4.99=#13023132,CN=a' },
  { subject: '/CN=aXc', replaced: ['0c03615863', '0c03610063'], name: 'CN=a\\00c' },
  { subject: '/CN=aXc', replaced: ['0c03615863', '0c03610a63'], name: 'CN=a\\0Ac', java: 'CN=a\nc' },
  { subject: '/CN=aXXc', replaced: ['0c0461585863', '0c0461c28563'], name: 'CN=a\\C2\\85c', java: 'CN=a\u0085c' },
  // A BMPString, a T61String, text that is not UTF-8, and a type without text.
  { subject: '/CN=aXcX', replaced: ['0c0461586358', '1e04006100e9'], name: 'CN=aé' },
  { subject: '/CN=aXc', replaced: ['0c03615863', '140361e963'], name: 'CN=aéc' },
  { subject: '/CN=aXc', replaced: ['0c03615863', '0c0361e963'], name: 'CN=#0c0361e963', java: 'CN=a\ufffdc' },
  { subject: '/CN=aXc', replaced: ['0c03615863', '0403615863'], name: 'CN=#0403615863' },
]

async function derOf(authority: Authority, { subject, replaced }: Case): Promise<Buffer> {
  const { raw } = new X509Certificate(await readFile(authority.issue({ subject }).certificateFile))
  if (replaced === undefined) return raw
  const [from, to] = replaced.map(bytes => Buffer.from(bytes, 'hex'))
  const at = raw.indexOf(from!)
  assert.ok(at > 0, `${subject} has ${replaced[0]}`)
  return Buffer.concat([raw.subarray(0, at), to!, raw.subarray(at + from!.length)])
}

test('a distinguished name has the order, the keywords and the escapes of RFC 2253, and no control characters', {
  skip: noOpenssl,
}, async t => {
  const authority = await makeAuthority(t)
  for (const each of CASES) assert.equal(distinguishedName(await derOf(authority, each)), each.name)
})

test('a subject of more than 4096 bytes is refused', { skip: noOpenssl }, async t => {
  const authority = await makeAuthority(t)
  const nameOf = async (units: number) =>
    distinguishedName(await derOf(authority, { subject: `/OU=${'x'.repeat(60)}`.repeat(units), name: '' }))
  assert.equal((await nameOf(50)).length, 50 * 64 - 1)
  await assert.rejects(nameOf(60), /^Error: it has 4\d{3} bytes; at most 4096 are read$/)
})

const PRINT_NAMES = `
import java.io.FileInputStream;
import java.security.cert.*;
class PrintNames {
  public static void main(String[] files) throws Exception {
    var factory = CertificateFactory.getInstance("X.509");
    for (String file : files)
      try (var in = new FileInputStream(file)) {
        var name = ((X509Certificate) factory.generateCertificate(in)).getSubjectX500Principal().getName();
        System.out.println(java.util.HexFormat.of().formatHex(name.getBytes("UTF-8")));
      }
  }
}`

test('the name is the one that Java gives to Apache Kafka, but for control characters and broken text', {
  skip: noOpenssl || noJava,
}, async t => {
  const authority = await makeAuthority(t)
  const folder = dirname(authority.certificateFile)
  const program = join(folder, 'PrintNames.java')
  await writeFile(program, PRINT_NAMES)
  const files: string[] = []
  const cases = CASES.filter(({ java }) => java !== null)
  for (const [at, each] of cases.entries()) {
    files.push(join(folder, `${at}.der`))
    await writeFile(files[at]!, await derOf(authority, each))
  }
  const names = outputOf('java', [program, ...files])
    .split('\n')
    .slice(0, cases.length)
    .map(name => Buffer.from(name, 'hex').toString())
  assert.deepEqual(
    names,
    cases.map(({ name, java = name }) => java),
  )
})
