import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { shared } from './support/app.ts';
import { newWebhook, startWebhookApp } from './support/webhook.ts';

const execute = promisify(execFile);

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app, { auth_mode: 'hmac' }));

const shell = `
  signature=$(printf '%s' "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')
  curl --silent --show-error --write-out '%{http_code}' --output /dev/null --request POST --data-binary "$SENT" \\
    --header 'Content-Type: application/json' --header "X-Hub-Signature-256: sha256=$signature" "$URL"`;

it.each([
  ['{"a":"😊 é"}', '{"a":"😊 é"}', '202'],
  ['{"a":1}', '{"a":2}', '401'],
])('curl sends %s signed by openssl', async (BODY, SENT, status) => {
  const { PATH = '' } = process.env;
  const env = { PATH, BODY, SENT, SECRET: hook.secret, URL: `${app.url}${hook.endpoint}` };
  const { stdout } = await execute('sh', ['-ec', shell], { env });
  expect(stdout).toBe(status);
});

const python = `
import hashlib, hmac, os, urllib.error, urllib.request
body = bytes(range(256)) * 1000
digest = hmac.new(os.environ["SECRET"].encode(), body, hashlib.sha256).hexdigest()
for sent in (body, body + b"x"):
    request = urllib.request.Request(os.environ["URL"], data=sent, headers={"X-Hub-Signature-256": "sha256=" + digest})
    try:
        print(urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        print(error.code)
`;

it('python signs bytes that are no text', async () => {
  const { PATH = '' } = process.env;
  const env = { PATH, SECRET: hook.secret, URL: `${app.url}${hook.endpoint}` };
  const { stdout } = await execute('python3', ['-c', python], { env });
  expect(stdout.split('\n').filter(Boolean)).toEqual(['202', '401']);
});
