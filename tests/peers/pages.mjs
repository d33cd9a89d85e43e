// The pages a person meets here. Every form carries data-action, as the pages of the service and the sandbox do.

const escape = (text) =>
  String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const button = (uid, action, fields, label) => `
  <form method="post" action="/interaction/${escape(uid)}" data-action="${escape(action)}">
    ${Object.entries(fields)
      .map(([name, value]) => `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`)
      .join('')}
    <button type="submit">${escape(label)}</button>
  </form>`;

const page = (name, title, body) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title></head>
<body data-page="${escape(name)}"><h1>${escape(title)}</h1>${body}</body></html>`;

export const login = (provider, uid, accounts) =>
  page(
    'op-login',
    `Sign in at ${provider}`,
    accounts.map(({ sub, name }) => button(uid, sub, { login: sub }, name)).join(''),
  );

export const consent = (provider, uid, { client, account, scopes }) =>
  page(
    'op-consent',
    `${provider}: may ${client} act for ${account}?`,
    `<ul>${scopes.map((scope) => `<li>${escape(scope)}</li>`).join('')}</ul>` +
      button(uid, 'allow', { consent: 'allow' }, 'Allow') +
      button(uid, 'deny', { consent: 'deny' }, 'Deny'),
  );

// The library's own forms of RFC 8628, with a button and a name.
const named = (form, action) =>
  form.replace('<form ', `<form data-action="${action}" `).replace('</form>', `<button type="submit">${action}</button></form>`);

export const enterCode = (provider, form) => page('op-code', `Enter your code at ${provider}`, named(form, 'enter'));

export const confirmCode = (form, client, code) =>
  page('op-confirm', `Is this the code of ${client}?`, `<p>${escape(code)}</p>${named(form, 'same')}`);

export const codeEntered = () => page('op-entered', 'The code was entered', '<p>Go back to your device.</p>');

export const problem = (title, detail) => page('op-error', title, `<p>${escape(detail)}</p>`);
