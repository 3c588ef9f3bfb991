import { spawn } from 'node:child_process';
import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './server.ts';

const program = '/usr/sbin/nginx';

/** As many workers as cores, nothing logged, connections kept: as fast as nginx serves files. */
const configuration = (root: string, port: number) => `
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes auto;
pid ${root}/nginx.pid;
error_log ${root}/error.log;
events { worker_connections 1024; }
http {
  types { text/html html; text/javascript js; }
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  open_file_cache max=1000;
  client_body_temp_path ${root}/body;
  proxy_temp_path ${root}/proxy;
  fastcgi_temp_path ${root}/fastcgi;
  uwsgi_temp_path ${root}/uwsgi;
  scgi_temp_path ${root}/scgi;
  server {
    listen 127.0.0.1:${port};
    root ${root}/files;
    location / { try_files $uri $uri.html $uri/index.html =404; }
  }
}
`;

/**
 * Serves files with stock nginx on a port of loopback.
 * @throws Error naming the package when nginx is not installed
 */
export async function startNginx(
  root: string,
  files: Readonly<Record<string, Buffer>>,
): Promise<{ url: string; stop(): Promise<void> }> {
  await access(program).catch(() => {
    throw new Error(`${program} is missing: install nginx (Debian: apt-get install nginx-light)`);
  });
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, 'files', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  const port = await freePort();
  const file = path.join(root, 'nginx.conf');
  await writeFile(file, configuration(root, port));
  const child = spawn(program, ['-p', root, '-c', file, '-g', 'daemon off;'], { stdio: 'inherit' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await fetch(url).catch(() => null)); tries += 1) {
    if (child.exitCode !== null || tries === 500) throw new Error('nginx does not answer');
    await delay(10);
  }
  return {
    url,
    async stop() {
      child.kill('SIGQUIT');
      await ended;
    },
  };
}
