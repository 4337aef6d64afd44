// Foreign clients of the agent tools list all of them and call each one: the v2 client and the v1 client of the SDK,
// and the command line of the Inspector. A tool that changes something is called twice. The Inspector starts a
// process for each call: it calls a third of the tools, which the seed draws, and all of them with KETCH_LONG=1. The
// v2 client makes the calls that stand between them.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { AGENTS_TOKEN, connectAgent } from '../../testing/agent-client.ts'
import { drawnBy } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { absenceOf, FOLDER, INSPECTOR } from './packages.ts'
import { runProgram } from './programs.ts'
import { type CallTool, change, changesOf, checkComplete, checkRead, READS, startWorld, TOOL_NAMES } from './world.ts'

const HEADER = `Bearer ${AGENTS_TOKEN}`

test('foreign clients list and call every tool', { skip: absenceOf() ?? false, timeout: 300_000 }, async t => {
  const { url, jobs } = await startWorld(t)
  const endpoint = `${url}/mcp`
  checkComplete(jobs.v2)

  await t.test('the v2 client of the SDK, with the revision 2026-07-28', async t => {
    const client = await connectAgent(t, url)
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOL_NAMES,
    )
    const call: CallTool = (name, args) => client.callTool({ name, arguments: args })
    for (const [name, args] of READS) checkRead(name, await call(name, args))
    for (const [name, args] of changesOf('v2', jobs.v2)) await change(call, name, args)
  })

  await t.test('the v1 client of the SDK', async t => {
    const load = createRequire(join(FOLDER, 'package.json'))
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js')
    const client = new Client({ name: 'a-test', version: '1.2.3' })
    const requestInit = { headers: { authorization: HEADER } }
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }))
    t.after(() => client.close())
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }: { readonly name: string }) => name),
      TOOL_NAMES,
    )
    const call: CallTool = (name, args) => client.callTool({ name, arguments: args })
    for (const [name, args] of READS) checkRead(name, await call(name, args))
    for (const [name, args] of changesOf('v1', jobs.v1)) await change(call, name, args)
  })

  await t.test('the command line of the Inspector', async t => {
    const home = newFolder(t)
    // It starts a process for each call. --strict judges the schemas of the list, and is taken there alone.
    const run = async (method: string, ...options: readonly string[]) => {
      const args = ['--cli', endpoint, '--header', `Authorization: ${HEADER}`, '--format', 'json']
      return await runProgram(INSPECTOR, [...args, '--method', method, ...options], home)
    }
    for (const era of ['legacy', 'modern']) {
      const { status, stdout, stderr } = await run('tools/list', '--strict', '--protocol-era', era)
      assert.equal(status, 0, stderr)
      assert.equal(stderr, '')
      assert.deepEqual(
        JSON.parse(stdout).result.tools.map(({ name }: { readonly name: string }) => name),
        TOOL_NAMES,
      )
    }
    const drawn = drawnBy(seed, 3, TOOL_NAMES)
    const other = await connectAgent(t, url)
    const call: CallTool = async (name, args) => {
      if (!drawn.includes(name)) return await other.callTool({ name, arguments: args })
      const { stdout, stderr } = await run('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args))
      assert.notEqual(stdout, '', stderr)
      return JSON.parse(stdout).result
    }
    const reading = async () => {
      for (const [name, args] of READS) if (drawn.includes(name)) checkRead(name, await call(name, args))
    }
    const changing = async () => {
      for (const [name, args] of changesOf('inspector', jobs.inspector)) await change(call, name, args)
    }
    await Promise.all([reading(), changing()])
  })
})
