/**
 * What a hostile site runs in its own page while that is edited: for some time it sends what no page would send, forges what a person does, and reaches for
 * the dashboard, each at random by a seed. It leaves the focus alone, for which pages are closed. What it has received and seen is in `window.seen`; `data-rounds` counts what it has tried.
 */
export const hostileScript = (seed: number, seconds: number): string => `
(() => {
  let state = ${seed};
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (count) => Math.floor(random() * count);
  const pick = (from) => from[below(from.length)];
  const seen = (window.seen = []);
  const keep = (from, what) => {
    if (seen.length < 20_000) seen.push([from, what]);
  };
  const end = performance.now() + ${seconds * 1000};
  const dashboard = document.currentScript.dataset.dashboard ?? 'http://127.0.0.1';

  const numbers = [0, 1, 2, 3, -1, 1.5, 1e6, 1e9, NaN, Infinity, -0, 2 ** 53];
  const words = ['', 'x', 'found', 'clicked', 'placed', 'scrolled', 'pieces', 'open', 'show', '__proto__', 'constructor', 'toString', '<\\/script>', 'javascript:alert(1)', 'url(/x)', 'x'.repeat(70_000)];
  const keys = ['type', 'id', 'ids', 'left', 'top', 'box', 'look', 'nodes', 'pieces', 'portico', 'path', '__proto__', 'constructor', 'toJSON', 'then'];
  const value = (depth = 0) =>
    pick([
      () => pick(numbers),
      () => pick(words),
      () => null,
      () => undefined,
      () => random() < 0.5,
      () => new Date(pick(numbers)),
      () => new Uint8Array(below(100)),
      () => new Map([[pick(words), pick(numbers)]]),
      () => (depth > 4 ? 7 : Array.from({ length: below(6) }, () => value(depth + 1))),
      () => (depth > 4 ? 7 : Object.fromEntries(Array.from({ length: below(6) }, () => [pick(keys), value(depth + 1)]))),
    ])();
  const look = () => ({ fontFamily: 'serif', fontSize: 16, lineHeight: null, fontWeight: '400', fontStyle: 'normal', textAlign: 'start', color: 'rgb(0, 0, 0)', background: 'rgb(255, 255, 255)', ...(random() < 0.3 && { [pick(['color', 'background', 'fontFamily', 'fontSize', 'other'])]: value() }) });
  const box = () => ({ left: pick(numbers), top: pick(numbers), width: 10, height: 10 });
  /** Messages that are nearly right, and some that are. */
  const message = () => {
    const made = pick([
      () => ({ type: 'found', ids: Array.from({ length: below(30) }, () => below(20)) }),
      () => ({ type: 'clicked', id: pick([null, 0, 1, 2, 3, 4, 90]), left: below(500), top: below(500), takesKeys: random() < 0.5 }),
      () => ({ type: 'placed', id: below(6), box: box(), look: look() }),
      () => ({ type: 'scrolled', top: pick(numbers) }),
      () => ({ type: 'lost', ids: Array.from({ length: below(30) }, () => below(20)) }),
      () => ({ type: 'went', path: path() }),
      () => ({ type: 'here' }),
      () => ({ type: 'saves' }),
      () => ({ type: 'hovered', at: pick([null, { id: below(6), box: box() }]) }),
      () => ({ type: 'located', request: below(20), at: pick([null, { group: below(20), box: box(), isAfter: random() < 0.5 }]) }),
      () => ({ type: 'dragged' }),
      () => ({ type: 'show', id: below(6), nodes: [{ tag: 'p', children: ['Forged'] }] }),
      () => ({ type: 'pieces', pieces: [{ id: 0, selector: '*', text: '', isImage: false }] }),
      () => ({ type: pick(words), [pick(keys)]: value(), text: 'Forged' }),
      () => value(),
    ])();
    if (made && typeof made === 'object' && random() < 0.2) made[pick(keys)] = value();
    return made;
  };
  const path = () => pick([location.pathname, '/', '/posts/bees/', '//' + location.host, 'x', '../..', '/'.repeat(9_000), value()]);

  const ports = [];
  const listen = (port, name) => {
    port.onmessage = ({ data, ports: given }) => {
      keep(name, data);
      for (const one of given) listen(one, name + ' port');
    };
    port.start();
  };
  addEventListener('message', ({ data, ports: given, source }) => {
    keep(source === parent ? 'parent' : 'own', data);
    for (const one of given) listen(one, 'given');
  }, true);
  for (const name of ['keydown', 'keypress', 'input', 'paste', 'drop'])
    addEventListener(name, (event) => event.isTrusted && keep('trusted', name + ' ' + (event.key ?? event.data ?? '')), true);

  // The page itself stays: what it would do elsewhere, it does here.
  addEventListener('click', (event) => event.preventDefault());
  const reach = (name, act) => {
    try {
      const got = act();
      keep('reached ' + name, typeof got === 'object' && got !== null ? Object.prototype.toString.call(got) : String(got));
    } catch (error) {
      keep('refused', name);
    }
  };
  const events = [
    () => new MouseEvent(pick(['click', 'mousedown', 'mouseup', 'mouseover', 'dblclick', 'contextmenu']), { bubbles: true, cancelable: true, button: 0, clientX: below(400), clientY: below(400) }),
    () => new PointerEvent(pick(['pointerdown', 'pointermove', 'pointerup', 'pointercancel']), { bubbles: true, pointerId: 1 }),
    () => new KeyboardEvent(pick(['keydown', 'keyup']), { bubbles: true, key: pick(['Enter', 's', 'Escape', 'a', 'Tab']), ctrlKey: random() < 0.5 }),
    () => new InputEvent('input', { bubbles: true, data: 'Forged' }),
    () => new DragEvent('drop', { bubbles: true, dataTransfer: new DataTransfer() }),
    () => new FocusEvent(pick(['focus', 'blur', 'focusin'])),
    () => new CustomEvent(pick(words.slice(0, 15)), { bubbles: true, detail: value() }),
    () => new ClipboardEvent('paste', { bubbles: true, clipboardData: new DataTransfer() }),
  ];
  const anything = () => pick([document, window, document.body, document.documentElement, ...document.querySelectorAll('*')]);
  const acts = [
    () => parent.postMessage(message(), '*'),
    () => parent.postMessage({ portico: pick(['page', 'page', value()]), path: path() }, '*'),
    () => {
      const { port1, port2 } = new MessageChannel();
      listen(port1, 'port');
      ports.push(port1);
      if (ports.length > 20) ports.shift().close();
      parent.postMessage({ portico: 'page', path: random() < 0.7 ? location.pathname : path() }, '*', [port2]);
    },
    () => ports.length > 0 && pick(ports).postMessage(message()),
    () => ports.length > 0 && pick(ports).postMessage(message()),
    () => anything().dispatchEvent(pick(events)()),
    () => anything().dispatchEvent(pick(events)()),
    () => pick([...document.querySelectorAll('main *')])?.click?.(),
    () => {
      const element = pick([...document.querySelectorAll('main *')]);
      if (random() < 0.1) element?.setAttribute(pick(['id', 'class', 'style', 'contenteditable']), String(pick(words.slice(0, 15))));
    },
    () => window.scrollTo(0, below(2_000)),
    () => reach('document', () => pick([parent, top]).document),
    () => reach('storage', () => pick([parent, top]).localStorage),
    () => reach('database', () => pick([parent, top]).indexedDB),
    () => reach('title', () => parent.document.title),
    () => reach('element', () => frameElement.ownerDocument),
    () => reach('eval', () => parent.eval('1')),
    () => reach('address', () => pick([parent, top]).location.href),
    () => reach('member', () => parent[pick(['__PORTICO__', 'React', 'urql', 'editor', 'fetch'])]),
    () => reach('opener', () => window.opener.document),
  ];
  let rounds = 0;
  const run = () => {
    for (let act = 0; act < 40; act += 1) {
      rounds += 1;
      try {
        pick(acts)();
      } catch {
        // What cannot be sent or made.
      }
    }
    document.documentElement.dataset.rounds = String(rounds);
    if (performance.now() < end) setTimeout(run, 5);
    else document.documentElement.dataset.done = 'yes';
  };
  addEventListener('load', run);
})();
`;
