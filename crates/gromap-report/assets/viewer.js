"use strict";document.getElementById("gromap").textContent="";
