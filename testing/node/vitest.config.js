export default { test: { globalSetup: './global-setup.js' } }
