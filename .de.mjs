import fs from 'node:fs'; import { chromium } from 'playwright-core'; import {model,gql} from '/tmp/eyes20/lib.mjs';
const cookie=fs.readFileSync('/tmp/eyes20/cookie','utf8'); const base='http://localhost:4391';
const b=await chromium.launch({executablePath:'/usr/bin/chromium',args:['--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync']});
const step=async(n,f)=>{const t=Date.now();try{const r=await f();console.log('ok ',n,Date.now()-t,typeof r==='string'?r:'');}catch(e){console.log('BAD',n,e.message.split('\n').slice(0,3).join(' | '));await page.screenshot({path:`/tmp/eyes20/bad-${n.replace(/\W+/g,'_')}.png`}).catch(()=>{});}};
const ctx=await b.newContext({viewport:{width:1400,height:900},locale:'de-DE'}); await ctx.addCookies(cookie.split('; ').map(c=>{const i=c.indexOf('=');return {name:c.slice(0,i),value:c.slice(i+1),url:base};}));
const page=await ctx.newPage(); page.setDefaultTimeout(15000);
await page.goto(base+'/p/demo/site/content/posts/en/moving-the-bees');
const panel=page.getByRole('region',{name:/Assist/});
await step('panel',async()=>{await page.getByRole('button',{name:/^Assist/}).first().click();await panel.waitFor();await page.waitForTimeout(2500);return JSON.stringify((await panel.innerText()).slice(0,900));});
await page.screenshot({path:'/tmp/eyes20/de.png'});
if(process.argv[2]==='model'){
await model('/script',[{calls:[{name:'delete_entry',arguments:{collection:'posts',entry:'en/glasshouse-panes'}}]},{texts:['k']}]);
await step('consent de',async()=>{await panel.getByRole('textbox').fill('Lösche');await page.keyboard.press('Enter');await panel.getByRole('button',{name:'Zustimmen'}).waitFor();const t=await panel.innerText();await page.screenshot({path:'/tmp/eyes20/de-consent.png'});await panel.getByRole('button',{name:'Ablehnen'}).click();await page.waitForTimeout(1500);return JSON.stringify(t);});
await model('/script',[{status:401}]);
await step('fault de',async()=>{await panel.getByRole('textbox').fill('x');await page.keyboard.press('Enter');await panel.getByRole('alert').waitFor();return JSON.stringify(await panel.getByRole('alert').innerText());});
await model('/script',[{status:401}]);
await step('suggest fault',async()=>{await page.locator('.cm-content,[contenteditable=true]').first().click();await page.getByRole('button',{name:/Assistent.*Text|Text.*Assistent/i}).first().click();await page.getByRole('button',{name:/Kürzen/}).or(page.getByRole('menuitem',{name:/Kürzen/})).first().click();await page.waitForTimeout(2500);await page.screenshot({path:'/tmp/eyes20/de-suggest.png'});return '';});
}
await b.close();
