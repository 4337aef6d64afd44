import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { noKdc, startKdc } from '../../testing/kdc.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { hasProgram } from '../../testing/programs.ts'
import { startCommand } from '../command.ts'
import { fetchJars, JAVA_ARGUMENTS } from '../java/jars.ts'

const noKcat = hasProgram('kcat') ? false : 'SKIPPED e2e/kerberos: apt-get install kcat libsasl2-modules-gssapi-mit'
const noJars = () => fetchJars() ?? false

/** Starts a KDC, and a broker that only clients with a ticket may use. */
async function startRealm(t: TestContext) {
  const kdc = await startKdc(t)
  const keytab = kdc.addPrincipal('kafka/localhost')
  const broker = await startBrokerProcess(t, {
    settings: {
      'svc.broker.advertised-host': 'localhost',
      'svc.broker.sasl.enabled': 'true',
      'svc.broker.sasl.mechanisms': 'GSSAPI',
      'svc.broker.sasl.gssapi.keytab-file': keytab,
      'svc.broker.sasl.gssapi.principal': `kafka/localhost@${kdc.realm}`,
      'logging.level.svc.kafka.authentication': 'DEBUG',
    },
  })
  return { kdc, broker, address: `localhost:${broker.port}`, alice: kdc.addPrincipal('alice/laptop.test') }
}

type Realm = Awaited<ReturnType<typeof startRealm>>

/** Produces the values and reads them back in a group, with Debian's kcat: librdkafka, Cyrus SASL and MIT Kerberos. */
async function throughKcat({ kdc, address, alice, broker }: Realm, values: readonly string[], service = 'kafka') {
  const options = {
    'security.protocol': 'SASL_PLAINTEXT',
    'sasl.mechanisms': 'GSSAPI',
    'sasl.kerberos.service.name': service,
    'sasl.kerberos.principal': `alice/laptop.test@${kdc.realm}`,
    'sasl.kerberos.keytab': alice,
    'broker.address.family': 'v4',
  }
  const common = ['-b', address, ...Object.entries(options).flatMap(([key, value]) => ['-X', `${key}=${value}`])]
  const env = { ...kdc.environment, KRB5CCNAME: `FILE:${join(broker.folder, 'kcat.cache')}` }
  const sent = startCommand('kcat', ['-P', '-t', 'kcat', '-p', '0', ...common], { input: values.join('\n'), env })
  await sent.done
  const asked = ['-G', 'kcat', '-c', String(values.length), '-q', '-X', 'auto.offset.reset=earliest', 'kcat']
  return (await startCommand('kcat', [...common, ...asked], { env }).done).toString().trimEnd().split('\n')
}

/** The same with Kafka's console tools, which use the Java client. */
async function throughJava({ kdc, address, alice, broker }: Realm, values: readonly string[]) {
  const file = join(broker.folder, 'client.properties')
  const login = `com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="${alice}" principal="alice/laptop.test@${kdc.realm}";`
  const properties = {
    'security.protocol': 'SASL_PLAINTEXT',
    'sasl.mechanism': 'GSSAPI',
    'sasl.kerberos.service.name': 'kafka',
    'sasl.jaas.config': login,
  }
  await writeFile(
    file,
    Object.entries(properties)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  )
  const java = [...JAVA_ARGUMENTS, `-Djava.security.krb5.conf=${kdc.confFile}`]
  const common = ['--bootstrap-server', address, '--topic', 'java', '--command-config', file]
  const producer = ['org.apache.kafka.tools.ConsoleProducer', ...common]
  await startCommand('java', [...java, ...producer], { input: values.join('\n') }).done
  const more = ['--group', 'java', '--from-beginning', '--max-messages', String(values.length)]
  const consumer = ['org.apache.kafka.tools.consumer.ConsoleConsumer', ...common, ...more]
  return (await startCommand('java', [...java, ...consumer]).done).toString().trimEnd().split('\n')
}

const VALUES = Array.from({ length: 100 }, (_, at) => `value ${at}`)

test('kcat produces and consumes in a group with a Kerberos ticket', { skip: noKdc || noKcat }, async t => {
  const realm = await startRealm(t)
  assert.deepEqual(await throughKcat(realm, VALUES), VALUES)
  assert.match(realm.broker.output(), /a client has authenticated .*mechanism=GSSAPI .*principal=User:alice\b/)
})

test("Kafka's Java client produces and consumes in a group with a Kerberos ticket", {
  skip: noKdc || noJars(),
}, async t => {
  const realm = await startRealm(t)
  assert.deepEqual(await throughJava(realm, VALUES), VALUES)
  assert.match(realm.broker.output(), /a client has authenticated .*mechanism=GSSAPI .*principal=User:alice\b/)
})

test('kcat with another service name gets no ticket for the broker, and the log says so', {
  skip: noKdc || noKcat,
}, async t => {
  const realm = await startRealm(t)
  realm.kdc.addPrincipal('other/localhost')
  await assert.rejects(throughKcat(realm, VALUES, 'other'))
  assert.match(realm.broker.output(), /an authentication failed .*the ticket is for 'other\/localhost@KETCH.TEST'/)
})
