import { links, page, redirect } from '../site-server.ts';
import { html, type TortureCase } from './torture-case.ts';

const hops = (name: string, count: number) =>
  Object.fromEntries([
    ...Array.from({ length: count }, (_, hop) => [
      hop === 0 ? `/${name}` : `/${name}/${hop}`,
      redirect(hop === count - 1 ? `/${name}/end` : `/${name}/${hop + 1}`),
    ]),
    [`/${name}/end`, page('End')],
  ]);

const loop = { state: 'error', error: 'redirect_loop' } as const;
const done = { state: 'done' } as const;

export const redirectCases: TortureCase[] = [
  { name: 'to itself', path: '/self', answers: { '/self': redirect('/self') }, row: loop },
  {
    name: 'to itself, until a cookie is sent back',
    path: '/cookie',
    answers: {
      '/cookie': ({ headers }) =>
        headers.cookie === 'seen=1'
          ? page('Past the cookie', links(['/cookie/in']))
          : { status: 302, headers: { Location: '/cookie', 'Set-Cookie': 'seen=1; Path=/cookie' } },
      '/cookie/in': page('In'),
    },
    row: { ...done, http_status: 200 },
    requested: ['/cookie/in'],
  },
  {
    name: 'to itself with a new cookie each time',
    path: '/cookies',
    answers: {
      '/cookies': ({ before }) => ({
        status: 302,
        headers: { Location: '/cookies', 'Set-Cookie': `n=${before}; Path=/cookies` },
      }),
    },
    row: loop,
  },
  { name: 'round two', path: '/two', answers: { '/two': redirect('/two/b'), '/two/b': redirect('/two') }, row: loop },
  {
    name: 'round three, entered from outside',
    path: '/round',
    answers: {
      '/round': redirect('/round/1'),
      '/round/1': redirect('/round/2'),
      '/round/2': redirect('/round/3'),
      '/round/3': redirect('/round/1'),
    },
    // The way in belongs to no circle.
    row: done,
  },
  { name: 'twenty hops', path: '/twenty', answers: hops('twenty', 20), row: done, requested: ['/twenty/end'] },
  { name: 'twenty-one hops', path: '/more', answers: hops('more', 21), row: done, spared: ['/more/end'] },
  {
    name: 'to a private address',
    path: '/private',
    answers: { '/private': redirect('http://10.255.255.1/inner') },
    row: { ...done, redirect_to: 'http://10.255.255.1/inner' },
  },
  {
    name: 'to metadata',
    path: '/metadata',
    answers: { '/metadata': redirect('http://169.254.169.254/latest/') },
    row: { ...done, redirect_to: 'http://169.254.169.254/latest/' },
  },
  {
    name: 'to a foreign host',
    path: '/foreign',
    answers: { '/foreign': redirect('https://www.example.com/x#y', 301) },
    row: { ...done, redirect_to: 'https://www.example.com/x' },
  },
  {
    name: 'to another scheme',
    path: '/scheme',
    answers: { '/scheme': redirect('javascript:alert(1)') },
    row: { state: 'error', error: 'redirect_invalid' },
  },
  {
    name: 'to a relative address',
    path: '/relative/a',
    answers: { '/relative/a': redirect('../relative/./b?c', 308), '/relative/b?c': page('B') },
    row: done,
    requested: ['/relative/b?c'],
  },
  {
    name: 'nowhere: an empty Location',
    path: '/empty',
    answers: { '/empty': redirect('') },
    row: { state: 'error', error: 'redirect_invalid' },
  },
  {
    name: 'nowhere: no Location',
    path: '/none',
    answers: { '/none': { status: 303 } },
    row: { state: 'error', error: 'redirect_invalid' },
  },
  {
    name: 'to an address beyond ASCII',
    path: '/letters',
    answers: { '/letters': redirect(Buffer.from('/grün').toString('latin1')), '/gr%C3%BCn': page('Green') },
    row: done,
    requested: ['/gr%C3%BCn'],
  },
  {
    name: 'to an address without a scheme',
    path: '/protocol',
    answers: {
      '/protocol': ({ origin }) => redirect(`${origin.replace('http:', '')}/protocol/in`),
      '/protocol/in': page('In'),
    },
    row: done,
    requested: ['/protocol/in'],
  },
  {
    name: 'by a meta element, soon',
    path: '/meta',
    answers: { '/meta': html('<meta http-equiv="refresh" content="10; URL=/meta/in">'), '/meta/in': page('In') },
    row: { ...done, http_status: 200 },
    requested: ['/meta/in'],
  },
  {
    name: 'by a meta element, later',
    path: '/later',
    answers: { '/later': html('<meta http-equiv="refresh" content="11; URL=/later/in">'), '/later/in': page('In') },
    row: { ...done, http_status: 200 },
    spared: ['/later/in'],
  },
];
