// librdkafka on a broker that speaks only TLS and demands client certificates.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthority, noOpenssl } from '../testing/certificate.ts'
import { startBrokerProcess } from '../testing/process.ts'
import { hasProgram } from '../testing/programs.ts'
import { runCommand } from './command.ts'

const noKcat = hasProgram('kcat') ? false : 'SKIPPED kcat: apt-get install kcat'

test('kcat produces and consumes over TLS with a client certificate, and gets nothing without one', {
  skip: noOpenssl || noKcat,
}, async t => {
  const authority = await makeAuthority(t)
  const served = authority.issue({ subject: '/CN=broker', usage: 'serverAuth' })
  const broker = await startBrokerProcess(t, {
    settings: {
      'svc.broker.tls': 'true',
      'svc.broker.cert-file': served.certificateFile,
      'svc.broker.key-file': served.keyFile,
      'svc.broker.client-auth-required': 'true',
      'svc.broker.trust-cert-file': authority.certificateFile,
      'svc.topics[0].name': '*',
      'svc.topics[0].auto-create': 'true',
    },
  })
  const { certificateFile, keyFile } = authority.issue()
  const trusting = ['security.protocol=ssl', `ssl.ca.location=${authority.certificateFile}`]
  const certified = [...trusting, `ssl.certificate.location=${certificateFile}`, `ssl.key.location=${keyFile}`]
  const kcat = (settings: readonly string[], ...args: string[]) => [
    ...['-b', broker.address, '-t', 'secured', ...args],
    ...settings.flatMap(setting => ['-X', setting]),
  ]
  const values = Array.from({ length: 1000 }, (_, at) => `${at}:${'x'.repeat(1000)}`)
  await runCommand('kcat', kcat(certified, '-P'), { input: values.join('\n') })
  const consumed = await runCommand('kcat', kcat(certified, '-C', '-o', 'beginning', '-e', '-q'))
  assert.deepEqual(String(consumed).trim().split('\n'), values)
  await assert.rejects(runCommand('kcat', kcat(trusting, '-L', '-m', '3')))
  assert.match(broker.output(), /the client has shown no certificate .*reason=client-certificate/)
})
